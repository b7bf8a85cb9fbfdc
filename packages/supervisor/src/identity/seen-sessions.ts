import type { Principal } from "./principal.ts";

/** How many principals, and sessions of each, are remembered. */
const MOST_PRINCIPALS = 10_000;
const MOST_SESSIONS = 1_000;

/** When the sessions that agents outside of the harness name were first seen, of each principal. */
export class SeenSessions {
  readonly #seen = new Map<string, Map<string, string>>();

  /** Notes a session, and says when it was first seen. Times are RFC 3339. */
  note({ id }: Pick<Principal, "id">, session: string, now: string): string {
    const sessions = this.#seen.get(id) ?? new Map<string, string>();
    const first = sessions.get(session) ?? now;
    // In the order of use, so that those that were not used for longest are forgotten.
    sessions.delete(session);
    sessions.set(session, first);
    forgetOldest(sessions, MOST_SESSIONS);
    this.#seen.delete(id);
    this.#seen.set(id, sessions);
    forgetOldest(this.#seen, MOST_PRINCIPALS);
    return first;
  }

  /** When a session was first seen, if it was. */
  firstSeen({ id }: Pick<Principal, "id">, session: string): string | undefined {
    return this.#seen.get(id)?.get(session);
  }
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  const oldest = map.keys().next();
  if (map.size > most && !oldest.done) map.delete(oldest.value);
}
