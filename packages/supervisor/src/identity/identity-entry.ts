import type { Draft } from "@reins/ledger";
import { actorOf, type Principal } from "./principal.ts";

/** A change of identity, for the record. Never with a secret, a hash of one, or more about a person than an id. */
export interface IdentityChange {
  readonly change:
    | "user_added"
    | "user_changed"
    | "user_removed"
    | "tenant_removed"
    | "token_created"
    | "token_revoked"
    | "session_delegated"
    | "session_revoked";
  readonly tenant: string;
  /** The user, token, session or tenant it is about. */
  readonly target: string;
  /** What it says besides. Plain JSON. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The session that brought it about. */
  readonly source?: string;
}

/** The entry of a change of identity, signed by whoever made it. */
export function identityDraft(
  by: Principal,
  { change, tenant, target, details, source }: IdentityChange,
): Draft {
  const { id, kind, user, tenant: home, started } = by;
  return {
    quality: "policy_change",
    actor: actorOf(by),
    target,
    tags: ["identity", `tenant:${tenant}`],
    ...(source !== undefined && { source }),
    payload: { change, tenant, ...details, by: { principal: id, kind, user, tenant: home, started } },
  };
}
