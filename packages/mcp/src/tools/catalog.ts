import { hasHidden, LruCache } from "@reins/kit";
import type { Faults } from "../faults.ts";
import type { McpGate, McpTool } from "../gate.ts";
import { type Message, objectIn } from "../message.ts";
import type { Upstream } from "../server/upstream.ts";
import { type Definition, readDefinition } from "./definition.ts";

/** A tool as last listed, and whether the session may use it. */
export interface KnownTool extends McpTool {
  readonly usable: boolean;
}

/** Cursors of walks under way that are remembered. */
const MOST_CURSORS = 64;

/** What one server said of its tools in a session: what they are now, and whether they were ever something else. */
export class ToolCatalog {
  readonly #server: string;
  readonly #gate: McpGate;
  readonly #faults: Faults;
  readonly #most: number;
  /** As each name was last described, also when it is no longer listed. */
  readonly #seen = new Map<string, McpTool>();
  readonly #walks = new LruCache<string, Listing>({ entries: MOST_CURSORS });
  #listed: Map<string, KnownTool> | undefined;
  #ambiguous: ReadonlySet<string> = new Set();

  constructor(server: string, gate: McpGate, faults: Faults, most: number) {
    this.#server = server;
    this.#gate = gate;
    this.#faults = faults;
    this.#most = most;
  }

  /** Whether any list has been seen. */
  get isKnown(): boolean {
    return this.#listed !== undefined;
  }

  /** The tools as last listed. */
  tools(): readonly KnownTool[] {
    return [...(this.#listed?.values() ?? [])];
  }

  /** What is known of a tool. */
  find(name: string): McpTool | undefined {
    return this.#listed?.get(name);
  }

  /** Why a tool of that name cannot be called, if so. */
  fault(name: string): string | undefined {
    if (hasHidden(name)) return "its name holds characters that cannot be seen";
    if (this.#ambiguous.has(name)) return "its server has several tools of that name";
    return undefined;
  }

  /** Takes a page of tools; gives those the agent may see. */
  async admit(cursor: string | undefined, entries: readonly unknown[], next: unknown): Promise<Message[]> {
    const walk = this.#walkOf(cursor);
    const definitions = entries.map((entry) => readDefinition(this.#server, entry));
    const readable = definitions.filter((definition) => definition !== undefined);
    if (readable.length < entries.length) {
      this.#faults.note(
        "tool_refused",
        `${entries.length - readable.length} tools with unreadable names or definitions`,
      );
    }
    walk.turn(
      cursor,
      readable.map(({ tool }) => tool.name),
    );
    this.#ambiguous = walk.ambiguous();
    if (typeof next === "string") this.#walks.set(next, walk);
    const shown: Message[] = [];
    for (const definition of readable) if (await this.#admitOne(definition)) shown.push(definition.listed);
    return shown;
  }

  async #admitOne({ tool }: Definition): Promise<boolean> {
    if (this.#ambiguous.has(tool.name)) {
      this.#faults.note("tool_refused", `several tools are named ${tool.name}`);
      this.#listed?.delete(tool.name);
      return false;
    }
    const before = this.#seen.get(tool.name);
    if (!before && this.#seen.size >= this.#most) {
      this.#faults.note("tool_refused", `more than ${this.#most} tools`);
      return false;
    }
    const usable = await this.#isUsable(tool, before);
    this.#seen.set(tool.name, tool);
    this.#listed?.set(tool.name, { ...tool, usable });
    return usable;
  }

  async #isUsable(tool: McpTool, before: McpTool | undefined): Promise<boolean> {
    try {
      if (before && before.hash !== tool.hash) {
        this.#faults.note("tool_changed", `${tool.name} is not what it was`);
        await this.#gate.changed?.({ before, after: tool });
      }
      return await this.#gate.mayUse(tool);
    } catch (error) {
      this.#faults.note("gate_failed", `it could not be decided whether ${tool.name} may be used`, error);
      return false;
    }
  }

  #walkOf(cursor: string | undefined): Listing {
    const known = cursor === undefined ? undefined : this.#walks.get(cursor);
    if (known) return known;
    if (cursor === undefined || !this.#listed) this.#listed = new Map();
    return new Listing();
  }
}

/** One walk through the pages of a server's tools. */
export class Listing {
  readonly #pages = new Map<string | undefined, readonly string[]>();

  /** Takes the names on a page; a page that is asked for again takes the place of its former self. */
  turn(cursor: string | undefined, names: readonly string[]): void {
    this.#pages.set(cursor, names);
  }

  /** The names that occur more than once, so that they are ambiguous. */
  ambiguous(): ReadonlySet<string> {
    const seen = new Set<string>();
    const twice = new Set<string>();
    for (const name of [...this.#pages.values()].flat()) {
      if (seen.has(name)) twice.add(name);
      seen.add(name);
    }
    return twice;
  }
}

/** More pages than this are no list. */
const MOST_PAGES = 64;

/**
 * Walks through a server's tools for our own sake, when an agent calls one without ever having listed them. A server
 * that has no list is left in peace.
 */
export async function learnTools(
  upstream: Upstream,
  catalog: ToolCatalog,
  meta: Message | undefined,
): Promise<void> {
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const params = { ...introduction(meta), ...(cursor !== undefined && { cursor }) };
    const answer = await upstream.ask({ jsonrpc: "2.0", id: 0, method: "tools/list", params }).answer;
    const result = "response" in answer ? objectIn(answer.response, "result") : undefined;
    const { tools, nextCursor } = result ?? {};
    if (!Array.isArray(tools)) return;
    await catalog.admit(cursor, tools, nextCursor);
    if (typeof nextCursor !== "string") return;
    cursor = nextCursor;
  }
}

/** What the agent says of itself in each request since 2026; tokens and the like are for its own request alone. */
function introduction(meta: Message | undefined): Message {
  const said = Object.entries(meta ?? {}).filter(([name]) => name.startsWith("io.modelcontextprotocol/"));
  return said.length > 0 ? { _meta: Object.fromEntries(said) } : {};
}
