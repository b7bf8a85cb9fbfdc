import { policyOperations } from "@reins/api";
import type { Dialect } from "../dialect/dialect.ts";
import { Refusal } from "../problems/refusal.ts";
import { policyStatus } from "./policy-status.ts";

/** The constitution: what is in force, what waits, and what is wrong with the file. */
export const policyDialect: Dialect = {
  name: "policy",
  mount(place) {
    place.governed(policyOperations.getPolicy, policyStatus);
    place.governed(policyOperations.reloadPolicy, async (call) => {
      await call.harness.policies.refresh();
      return policyStatus(call);
    });
    place.governed(policyOperations.acceptPolicy, async (call) => {
      const { body, query, harness, principal, supervisor } = call;
      const tenant = supervisor.tenantFor(principal, query.tenant);
      expectSeen(body ?? {}, harness.policies.status(tenant)?.waiting?.hashes);
      await harness.policies.accept(tenant, supervisor.actorOf(principal));
      return policyStatus(call);
    });
  },
};

interface Hashes {
  readonly rules_hash?: string | undefined;
  readonly constitution_hash?: string | undefined;
}

/** Refuses to accept anything but what somebody has seen, if they say what that was. */
function expectSeen(seen: Hashes, waiting: Hashes | undefined): void {
  if (!waiting) return;
  const { rules_hash = waiting.rules_hash, constitution_hash = waiting.constitution_hash } = seen;
  if (rules_hash === waiting.rules_hash && constitution_hash === waiting.constitution_hash) return;
  throw new Refusal("conflict", `something else waits by now, with rules_hash ${waiting.rules_hash}`);
}
