import { readFile } from "node:fs/promises";
import { dirname, sep } from "node:path";
import type { policyOperations } from "@reins/api";
import type { PolicyStatus } from "@reins/supervisor";
import type { GovernedCall } from "../dialect/call.ts";
import { Refusal } from "../problems/refusal.ts";

type Loaded = NonNullable<PolicyStatus["policy"]>;

type Call = GovernedCall<(typeof policyOperations)["getPolicy" | "reloadPolicy" | "acceptPolicy"]>;

/** How the policy of a tenant stands. What looks like a secret in it is not shown, nor where its files lie. */
export async function policyStatus(call: Call): Promise<object> {
  const { principal, query, harness, supervisor } = call;
  const tenant = supervisor.tenantFor(principal, query.tenant);
  const status = harness.policies.status(tenant);
  if (!status) throw new Refusal("not_found", `the tenant ${tenant} has no policy yet; reload it`);
  const { folder, rules, prose } = await filesOf(call, tenant);
  const { policy, waiting, fault } = status;
  return {
    tenant,
    in_force: policy ? harness.redact(loaded(policy)) : null,
    waiting: waiting ? harness.redact(loaded(waiting)) : null,
    fault: fault === undefined ? null : harness.redact(fault.replaceAll(folder, "")),
    rules: harness.redact(rules),
    prose: harness.redact(prose),
  };
}

function loaded({ hashes, rules, file }: Loaded): object {
  const tests = file.tests.map(({ name, expect, rule }) => ({ name, expect, rule }));
  return { ...hashes, rules: rules.map(({ rule }) => rule), tests, file };
}

/** The files as they are now. A tenant without rules of its own lives under those of the harness. */
async function filesOf({ harness }: Call, tenant: string) {
  const own = harness.policies.filesOf(tenant);
  const rules = await textOf(own.rules);
  const shared = harness.identity.local().tenant;
  const files = rules === null ? harness.policies.filesOf(shared) : own;
  return {
    folder: dirname(files.rules) + sep,
    rules: rules ?? (await textOf(files.rules)),
    prose: await textOf(files.prose),
  };
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}
