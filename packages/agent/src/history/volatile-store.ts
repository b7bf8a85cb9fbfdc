import type { HistoryEntry } from "./entry.ts";
import {
  type KeptSession,
  pageOf,
  type SessionHeader,
  type SessionPage,
  type SessionQuery,
  type SessionStore,
} from "./session-store.ts";

/** Sessions that last as long as their process. */
export class VolatileSessionStore implements SessionStore {
  readonly #sessions = new Map<string, { header: SessionHeader; readonly entries: HistoryEntry[] }>();

  async read(id: string): Promise<KeptSession | undefined> {
    const kept = this.#sessions.get(id);
    return kept && { header: kept.header, entries: [...kept.entries] };
  }

  async list(query: SessionQuery): Promise<SessionPage> {
    return pageOf(
      [...this.#sessions.values()].map(({ header }) => header),
      query,
    );
  }

  async append(header: SessionHeader, entries: readonly HistoryEntry[]): Promise<void> {
    const kept = this.#sessions.get(header.id) ?? { header, entries: [] };
    kept.header = header;
    kept.entries.push(...entries);
    this.#sessions.set(header.id, kept);
  }

  async remove(id: string): Promise<void> {
    this.#sessions.delete(id);
  }
}
