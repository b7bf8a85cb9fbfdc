import { ToolIndex } from "@reins/bridge";
import { Roots } from "../files/roots.ts";
import { entriesInEffect, type HistoryEntry, type UserPart } from "../history/entry.ts";
import type { SessionHeader, SessionStore, StoredSession } from "../history/session-store.ts";
import type { SessionSkills } from "../skills/session-skills.ts";
import { BackgroundCommands } from "../tools/background-commands.ts";
import { McpServers } from "../tools/mcp-servers.ts";

const TITLE_LENGTH = 80;

/** How far back a conversation goes, and the id under which that is stored. */
export interface ConversationRewind {
  readonly before: string;
  readonly id: string;
  /** RFC 3339. */
  readonly at: string;
}

/** Prompts that are sent into a turn. */
class Steering {
  readonly #waiting: { readonly parts: readonly UserPart[]; readonly settle: (isTaken: boolean) => void }[] =
    [];

  /** Offers a prompt, until the signal withdraws it; resolves with whether the turn took it. */
  async offer(parts: readonly UserPart[], signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    const { promise, resolve: settle } = Promise.withResolvers<boolean>();
    const offered = { parts, settle };
    this.#waiting.push(offered);
    const withdraw = () => {
      const index = this.#waiting.indexOf(offered);
      if (index >= 0) this.#waiting.splice(index, 1);
      settle(false);
    };
    signal.addEventListener("abort", withdraw, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", withdraw));
  }

  /** Takes what was offered, the oldest first. */
  take(): readonly (readonly UserPart[])[] {
    return this.#settle(true);
  }

  /** Leaves what was offered and not taken, because the turn is over. */
  leave(): void {
    this.#settle(false);
  }

  #settle(isTaken: boolean): readonly (readonly UserPart[])[] {
    return this.#waiting.splice(0).map(({ parts, settle }) => {
      settle(isTaken);
      return parts;
    });
  }
}

/** An open session: its header, history and activity. */
export class Session {
  readonly #store: SessionStore;
  /** All that is stored, and what of that is in effect. */
  readonly #stored: HistoryEntry[];
  #entries: HistoryEntry[];
  #header: SessionHeader;
  #roots: Roots;
  /** Settles when the last change is stored or has failed. */
  #changed: Promise<unknown> = Promise.resolve();
  /** What could not be used of the tools that its host lends. */
  hostWarnings: readonly string[] = [];
  /** The MCP servers whose failure has been reported. */
  readonly faulty = new Set<string>();
  /** What was shown as wrong with its skills. */
  readonly skillFaults = new Set<string>();
  /** Its skills, from the first turn on. */
  skills: SessionSkills | undefined;
  /** Finds its deferred tools. */
  readonly toolIndex = new ToolIndex();
  /** The commands that run beside its turns. */
  readonly commands = new BackgroundCommands();
  /** The MCP servers of its client. */
  servers: McpServers = new McpServers([]);
  /** Cancels the turn in progress. */
  turn: AbortController | undefined;
  /** Settles when the last turn has ended. */
  turnOver: Promise<void> = Promise.resolve();
  /** Prompts for the turn in progress that no request to the model has taken yet. */
  readonly steering = new Steering();
  /** Cancels background work. */
  background: { readonly controller: AbortController; readonly done: Promise<void> } | undefined;

  constructor(store: SessionStore, { header, entries }: StoredSession) {
    this.#store = store;
    this.#header = header;
    this.#roots = new Roots(header.cwd, header.additionalDirectories);
    this.#stored = [...entries];
    this.#entries = [...entriesInEffect(entries)];
  }

  get id(): string {
    return this.#header.id;
  }

  get header(): SessionHeader {
    return this.#header;
  }

  /** The folders it works in, resolved when it last entered them. */
  get roots(): Roots {
    return this.#roots;
  }

  /** The history that is in effect. */
  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  /**
   * Takes the conversation back to before a turn, or before an earlier rewind, and stores that under the id of a rewind.
   * Returns whether there was such a turn.
   */
  async rewind({ before, id, at }: ConversationRewind): Promise<boolean> {
    const keeps = this.#stored.findIndex(({ turn }) => turn === before);
    if (keeps < 0) return false;
    await this.keep({ kind: "rewound", turn: id, at, keeps });
    return true;
  }

  /** Changes and stores the header. */
  async set(changes: Partial<SessionHeader>): Promise<void> {
    await this.#change(changes, []);
  }

  /** Names it; the title is stored with its next entry. */
  setTitle(title: string): void {
    this.#header = { ...this.#header, title };
  }

  /** Changes the folders it works in, or resolves the current ones again. */
  async enter(folders: Partial<Pick<SessionHeader, "cwd" | "additionalDirectories">>): Promise<void> {
    await this.set(folders);
    const { cwd, additionalDirectories } = this.#header;
    const roots = new Roots(cwd, additionalDirectories);
    await roots.find();
    this.#roots = roots;
  }

  /** Appends entries to the history. */
  async keep(...entries: readonly HistoryEntry[]): Promise<void> {
    await this.#change({ updatedAt: entries.at(-1)?.at ?? this.#header.updatedAt }, entries);
  }

  /** Replaces its MCP servers. */
  async setMcpServers(servers: readonly unknown[]): Promise<void> {
    const before = this.servers;
    this.servers = new McpServers(servers);
    await before.close();
  }

  /** A title from the first prompt; `undefined` when there is one. */
  titleFrom(words: string): string | undefined {
    if (this.#header.title !== undefined) return undefined;
    const line = words.trim().split("\n")[0]?.replace(/\s+/g, " ") ?? "";
    if (line === "") return undefined;
    return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH)}…` : line;
  }

  /** Serialises changes: an entry of a turn must not undo a setting that was made meanwhile. */
  #change(changes: Partial<SessionHeader>, entries: readonly HistoryEntry[]): Promise<void> {
    const changed = this.#changed.then(async () => {
      await this.#store.append({ ...this.#header, ...changes }, entries);
      this.#header = { ...this.#header, ...changes };
      this.#stored.push(...entries);
      this.#entries.push(...entries);
      if (entries.some(({ kind }) => kind === "rewound")) this.#entries = [...entriesInEffect(this.#stored)];
    });
    this.#changed = changed.catch(() => undefined);
    return changed;
  }
}
