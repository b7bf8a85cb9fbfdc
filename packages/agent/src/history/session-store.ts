import { z } from "zod";
import type { HistoryEntry } from "./entry.ts";

/** The settings and metadata of a session. */
export const SessionHeader = z.object({
  id: z.string(),
  cwd: z.string(),
  additionalDirectories: z.array(z.string()),
  title: z.string().optional(),
  createdAt: z.string(),
  updatedAt: z.string(),
  mode: z.string(),
  model: z.string(),
  thoughtLevel: z.string(),
});
export type SessionHeader = z.infer<typeof SessionHeader>;

/** A session as stored. */
export interface StoredSession {
  readonly header: SessionHeader;
  readonly entries: readonly HistoryEntry[];
}

/** A query for sessions. */
export interface SessionQuery {
  /** Only sessions of this folder. */
  readonly cwd?: string | undefined;
  /** The `nextCursor` of the last page. */
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** One page of sessions, the most recently used first. */
export interface SessionPage {
  readonly sessions: readonly SessionHeader[];
  readonly nextCursor?: string;
}

/** Stores sessions. Entries are append-only and durable once appended. */
export interface SessionStore {
  read(id: string): Promise<StoredSession | undefined>;
  list(query: SessionQuery): Promise<SessionPage>;
  /** Appends entries and replaces the header; creates the session if it does not exist. */
  append(header: SessionHeader, entries: readonly HistoryEntry[]): Promise<void>;
  /** Deletes a session, if it exists. */
  remove(id: string): Promise<void>;
  /** Lets go of what is held for a session that is not in use any more. */
  release?(id: string): void;
}

/** Pages a list of headers in memory. A cursor names the last header of a page. */
export function pageOf(headers: readonly SessionHeader[], { cwd, cursor, limit }: SessionQuery): SessionPage {
  const ordered = headers
    .filter((header) => cwd === undefined || header.cwd === cwd)
    .toSorted((left, right) => compare(keyOf(right), keyOf(left)))
    .filter((header) => cursor === undefined || compare(keyOf(header), cursor) < 0);
  const sessions = ordered.slice(0, limit);
  const last = sessions.at(-1);
  return { sessions, ...(ordered.length > limit && last && { nextCursor: keyOf(last) }) };
}

function keyOf({ updatedAt, id }: SessionHeader): string {
  return `${updatedAt} ${id}`;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

/** Stores sessions in memory. */
export class VolatileSessionStore implements SessionStore {
  readonly #sessions = new Map<string, { header: SessionHeader; readonly entries: HistoryEntry[] }>();

  async read(id: string): Promise<StoredSession | undefined> {
    const stored = this.#sessions.get(id);
    return stored && { header: stored.header, entries: [...stored.entries] };
  }

  async list(query: SessionQuery): Promise<SessionPage> {
    return pageOf(
      [...this.#sessions.values()].map(({ header }) => header),
      query,
    );
  }

  async append(header: SessionHeader, entries: readonly HistoryEntry[]): Promise<void> {
    const stored = this.#sessions.get(header.id) ?? { header, entries: [] };
    stored.header = header;
    stored.entries.push(...entries);
    this.#sessions.set(header.id, stored);
  }

  async remove(id: string): Promise<void> {
    this.#sessions.delete(id);
  }
}
