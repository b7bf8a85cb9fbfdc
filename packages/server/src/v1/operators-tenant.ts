import type { Principal } from "@reins/supervisor";
import { Refusal } from "../problems/refusal.ts";

/** Refuses whoever does not belong to the tenant that looks after the harness itself. */
export function expectOperatorsTenant({ user, tenant }: Principal, why: string): void {
  if (tenant === "default") return;
  throw new Refusal(
    "forbidden",
    `${user} may not do that: ${why}, so it takes an admin of the default tenant`,
  );
}
