import type { Subject } from "@reins/policy";

/** The key of a session's chain in the ledger. Two tenants may use the same names, so theirs is part of it. */
export function sessionKey({
  agent,
  tenant,
  session,
}: Pick<Subject, "agent" | "tenant" | "session">): string {
  return `${agent}:${tenant}:${session}`;
}
