/** The connections that want to hear when turns begin and end, of each session that they follow. */
export class TurnHearers {
  readonly #connections = new Map<string, Set<string>>();

  /** A connection follows a session, and wants to hear of its turns. */
  add(session: string, connection: string): void {
    const all = this.#connections.get(session) ?? new Set();
    all.add(connection);
    this.#connections.set(session, all);
  }

  /** It does so no more. */
  remove(session: string, connection: string): void {
    const all = this.#connections.get(session);
    all?.delete(connection);
    if (all?.size === 0) this.#connections.delete(session);
  }

  /** Whether anybody beside one connection wants to hear of a session's turns. */
  hasOthers(session: string, connection: string): boolean {
    const all = this.#connections.get(session);
    if (!all) return false;
    return all.size > 1 || !all.has(connection);
  }
}
