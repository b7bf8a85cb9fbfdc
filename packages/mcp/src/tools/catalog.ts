import { hasHidden } from "@reins/kit";
import type { Faults } from "../faults.ts";
import type { McpGate, McpTool } from "../gate.ts";
import type { Message } from "../wire/message.ts";
import { type Definition, readDefinition } from "./definition.ts";
import { Listing } from "./listing.ts";

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
  readonly #walks = new Map<string, Listing>();
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

  /** Why nobody may call a tool of that name, if so. */
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
    if (typeof next === "string") this.#remember(next, walk);
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
      this.#faults.note("gate_failed", `nobody could say whether ${tool.name} may be used`, error);
      return false;
    }
  }

  #walkOf(cursor: string | undefined): Listing {
    const known = cursor === undefined ? undefined : this.#walks.get(cursor);
    if (known) return known;
    if (cursor === undefined || !this.#listed) this.#listed = new Map();
    return new Listing();
  }

  #remember(cursor: string, walk: Listing): void {
    this.#walks.set(cursor, walk);
    const [oldest] = this.#walks.keys();
    if (this.#walks.size > MOST_CURSORS && oldest !== undefined) this.#walks.delete(oldest);
  }
}
