import { readFile } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { policyOperations, rosterOperations } from "@reins/api";
import { ifExists } from "@reins/kit";
import type { PolicyStatus, Roster } from "@reins/supervisor";
import { actorOf, RosterFile, tenantFor } from "@reins/supervisor";
import { HttpProblem } from "../problems.ts";
import {
  type AuthorizedCall,
  conforming,
  perHarness,
  type ResponseBody,
  type Routes,
} from "../routes/router.ts";

/** The constitution: in force, waiting and invalid versions. */
export const policyRoutes: Routes = {
  name: "policy",
  mount(router) {
    router.handle(policyOperations.getPolicy, policyStatus);
    router.handle(policyOperations.reloadPolicy, async (call) => {
      await call.harness.policies.refresh();
      return policyStatus(call);
    });
    router.handle(policyOperations.acceptPolicy, async (call) => {
      const { body, query, harness, principal } = call;
      const tenant = tenantFor(principal, query.tenant);
      expectSeen(body ?? {}, harness.policies.status(tenant)?.waiting?.hashes);
      await harness.policies.accept(tenant, actorOf(principal));
      return policyStatus(call);
    });
  },
};

interface Hashes {
  readonly rules_hash?: string | undefined;
  readonly constitution_hash?: string | undefined;
}

/** Rejects the acceptance of another version than the one that was seen. */
function expectSeen(seen: Hashes, waiting: Hashes | undefined): void {
  if (!waiting) return;
  const { rules_hash = waiting.rules_hash, constitution_hash = waiting.constitution_hash } = seen;
  if (rules_hash === waiting.rules_hash && constitution_hash === waiting.constitution_hash) return;
  throw new HttpProblem("conflict", `something else waits by now, with rules_hash ${waiting.rules_hash}`);
}

type Loaded = NonNullable<PolicyStatus["policy"]>;

type Call = AuthorizedCall<(typeof policyOperations)["getPolicy" | "reloadPolicy" | "acceptPolicy"]>;

/** The status of a tenant's policy, redacted and without paths. */
async function policyStatus(call: Call): Promise<ResponseBody<typeof policyOperations.getPolicy>> {
  const { principal, query, harness } = call;
  const tenant = tenantFor(principal, query.tenant);
  const status = harness.policies.status(tenant);
  if (!status) throw new HttpProblem("not_found", `the tenant ${tenant} has no policy yet; reload it`);
  const { folder, rules, prose } = await filesOf(call, tenant);
  const { policy, waiting, fault } = status;
  return conforming(policyOperations.getPolicy.answer, {
    tenant,
    in_force: policy ? harness.redact(loaded(policy)) : null,
    waiting: waiting ? harness.redact(loaded(waiting)) : null,
    fault: fault === undefined ? null : harness.redact(fault.replaceAll(folder, "")),
    rules: harness.redact(rules),
    prose: harness.redact(prose),
  });
}

function loaded({ hashes, rules, file }: Loaded) {
  const tests = file.tests.map(({ name, expect, rule }) => ({ name, expect, rule }));
  return { ...hashes, rules: rules.map(({ rule }) => rule), tests, file };
}

/** The current files; a tenant without rules uses the default ones. */
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
  return (await ifExists(readFile(path, "utf8"))) ?? null;
}

/** One per harness, because it serializes changes of the file. */
const rosterFile = perHarness((harness) => new RosterFile(harness));

/** The roster. */
export const rosterRoutes: Routes = {
  name: "roster",
  mount(router) {
    router.handle(rosterOperations.getRoster, async ({ harness }) => {
      const { roster } = harness.policies;
      const { entries, faults } = roster;
      const counting = entries.filter((entry) => roster.find(entry.session_id) === entry);
      return { agents: counting.map((entry) => shownAgent(roster, entry)), faults };
    });
    router.handle(rosterOperations.addAgent, async (call) => {
      const { session_id } = await rosterFile(call.harness).add(call.body, call.principal);
      return agentIn(call.harness.policies.roster, session_id);
    });
    router.handle(rosterOperations.setAgent, async (call) => {
      const { session_id } = await rosterFile(call.harness).set(call.params.agent, call.body, call.principal);
      return agentIn(call.harness.policies.roster, session_id);
    });
  },
};

function agentIn(roster: Roster, agent: string) {
  const entry = roster.find(agent);
  if (!entry) throw new HttpProblem("not_found", `the roster has no agent ${agent}`);
  return shownAgent(roster, entry);
}

function shownAgent(roster: Roster, entry: Roster["entries"][number]) {
  const { session_id: agent } = entry;
  return { agent, trust: roster.trustOf(agent), entry };
}
