import type { Subject } from "@reins/policy";

/** The key of a session's chain in the ledger. Two tenants may use the same names, so theirs is part of it. */
export function sessionKey(subject: Pick<Subject, "agent" | "tenant" | "session" | "session_key">): string {
  const { tenant, agent, session, session_key } = subject;
  // A colon in an agent's own word for itself must not make its key that of another.
  const key = session_key ?? `${agent.replaceAll(":", "%3A")}:ahp:${session}`;
  return `${tenantPrefix(tenant) ?? ""}${key}`;
}

/** How the keys of all sessions of a tenant begin; those of the default one have nothing in common. */
export function tenantPrefix(tenant: string): string | undefined {
  return tenant === "default" ? undefined : `${tenant}/`;
}
