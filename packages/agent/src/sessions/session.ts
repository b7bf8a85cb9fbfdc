import { Roots } from "../files/roots.ts";
import type { HistoryEntry } from "../history/entry.ts";
import type { SessionHeader, SessionStore, StoredSession } from "../history/session-store.ts";
import { McpServers } from "../tools/mcp-servers.ts";

const TITLE_LENGTH = 80;

/** A session that is open: what is known of it, what was said in it, and what it is doing. */
export class Session {
  readonly #store: SessionStore;
  readonly #entries: HistoryEntry[];
  #header: SessionHeader;
  #roots: Roots;
  /** Settles when the last change is kept, or could not be. */
  #changed: Promise<unknown> = Promise.resolve();
  /** The servers of which was said that they cannot be used. */
  readonly faulty = new Set<string>();
  /** The servers of tools that its client gave it. */
  servers: McpServers = new McpServers([]);
  /** Ends the turn that is under way. */
  turn: AbortController | undefined;
  /** Settles when the last turn is over. */
  turnOver: Promise<void> = Promise.resolve();
  /** Ends what is done while nobody wants anything. */
  background: { readonly controller: AbortController; readonly done: Promise<void> } | undefined;

  constructor(store: SessionStore, { header, entries }: StoredSession) {
    this.#store = store;
    this.#header = header;
    this.#roots = new Roots(header.cwd, header.additionalDirectories);
    this.#entries = [...entries];
  }

  get id(): string {
    return this.#header.id;
  }

  get header(): SessionHeader {
    return this.#header;
  }

  /** The folders it works in, where they lay when it was last let into them. */
  get roots(): Roots {
    return this.#roots;
  }

  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  /** Changes what is known of it, and keeps that. */
  async set(changes: Partial<SessionHeader>): Promise<void> {
    await this.#change(changes, []);
  }

  /** Has it work in these folders, or where it did, as they lie now. */
  async enter(place: Partial<Pick<SessionHeader, "cwd" | "additionalDirectories">>): Promise<void> {
    await this.set(place);
    const { cwd, additionalDirectories } = this.#header;
    const roots = new Roots(cwd, additionalDirectories);
    await roots.find();
    this.#roots = roots;
  }

  /** Adds to its history. What is in it is kept. */
  async keep(entry: HistoryEntry): Promise<void> {
    await this.#change({ updatedAt: entry.at }, [entry]);
  }

  /** Gives it other servers of tools, in the place of those it had. */
  async setMcpServers(servers: readonly unknown[]): Promise<void> {
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

  /** One change after the other: a setting that is made in the middle of a turn must not be undone by its next entry. */
  #change(changes: Partial<SessionHeader>, entries: readonly HistoryEntry[]): Promise<void> {
    const changed = this.#changed.then(async () => {
      const header = { ...this.#header, ...changes };
      await this.#store.append(header, entries);
      this.#header = header;
      this.#entries.push(...entries);
    });
    this.#changed = changed.catch(() => undefined);
    return changed;
  }
}
