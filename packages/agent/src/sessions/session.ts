import type { HistoryEntry } from "../history/entry.ts";
import type { KeptSession, SessionHeader, SessionStore } from "../history/session-store.ts";
import { McpServers } from "../mcp/mcp-servers.ts";

const TITLE_LENGTH = 80;

/** A session that is open: what is known of it, what was said in it, and what it is doing. */
export class Session {
  readonly #store: SessionStore;
  readonly #entries: HistoryEntry[];
  #header: SessionHeader;
  /** What was put into earlier turns and need not be said again. */
  readonly told = new Set<string>();
  /** The servers of tools that its client gave it. */
  servers: McpServers = new McpServers([]);
  /** Ends the turn that is under way. */
  turn: AbortController | undefined;
  /** Ends what is done while nobody wants anything. */
  background: { readonly controller: AbortController; readonly done: Promise<void> } | undefined;

  constructor(store: SessionStore, { header, entries }: KeptSession) {
    this.#store = store;
    this.#header = header;
    this.#entries = [...entries];
  }

  get id(): string {
    return this.#header.id;
  }

  get header(): SessionHeader {
    return this.#header;
  }

  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  /** Changes what is known of it, and keeps that. */
  async set(changes: Partial<SessionHeader>): Promise<void> {
    const header = { ...this.#header, ...changes };
    await this.#store.append(header, []);
    this.#header = header;
  }

  /** Adds to its history. What is in it is kept. */
  async keep(entry: HistoryEntry): Promise<void> {
    const header = { ...this.#header, updatedAt: entry.at };
    await this.#store.append(header, [entry]);
    this.#header = header;
    this.#entries.push(entry);
  }

  /** Gives it other servers of tools, in the place of those it had. */
  async lend(servers: readonly unknown[]): Promise<void> {
    const before = this.servers;
    this.servers = new McpServers(servers);
    await before.close();
  }

  /** Its title, from the first thing that was asked in it; `undefined` when it has one. */
  titleFrom(words: string): string | undefined {
    if (this.#header.title !== undefined) return undefined;
    const line = words.trim().split("\n")[0]?.replace(/\s+/g, " ") ?? "";
    if (line === "") return undefined;
    return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH)}…` : line;
  }
}
