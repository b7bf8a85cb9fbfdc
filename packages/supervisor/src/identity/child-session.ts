/** A session that an agent began for a sub-agent, with no more than it was given. */
export interface ChildSession {
  readonly session_id: string;
  readonly tenant: string;
  readonly user: string;
  /** The id of the principal it is bound to: its token is worth nothing in anybody else's hands. */
  readonly principal: string;
  /** The session it was begun from. */
  readonly parent: string;
  readonly agent: string;
  /** The agents between the one the user started and this one, outermost first. */
  readonly chain: readonly string[];
  readonly depth: number;
  readonly scopes: readonly string[];
  /** Without the secrets that can be recognised in it. */
  readonly task: string;
  /** RFC 3339, like the time below. */
  readonly created: string;
  readonly expires: string;
}

/** A child session as the store keeps it. */
export interface StoredChild extends ChildSession {
  /** The keyed hash of its token. */
  readonly hash: string;
  readonly revoked: string | undefined;
  readonly changed: number;
}

const MARK = "delegated_";

/** The name of a new child session, from random text. */
export function childSessionName(random: string): string {
  return `${MARK}${random}`;
}

/** Whether a session can only be a delegated one. Such names are ours to give. */
export function isChildSessionName(session: string): boolean {
  return session.startsWith(MARK);
}

/** A child session as others see it. */
export function asChildSession({ hash: _, revoked: __, changed: ___, ...child }: StoredChild): ChildSession {
  return child;
}
