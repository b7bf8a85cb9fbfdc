import { createHash } from "node:crypto";
import { errorMessage, HIDDEN, hasHidden, LruCache } from "@reins/kit";
import type { Faults } from "../faults.ts";
import type { McpGate, McpTool } from "../gate.ts";
import { isObject, type Message, objectIn, toNearlyPlain } from "../message.ts";
import type { Upstream } from "../server/upstream.ts";

/** A tool as it stands in a list, and as the agent gets to see it. */
interface Definition {
  readonly tool: McpTool;
  readonly listed: Message;
}

/** A longer definition, in characters of JSON, is none that a person could review. */
const MOST_DEFINITION = 65_536;

/** What the instructions of a server are pinned as; no tool has that name. */
const INSTRUCTIONS = "(instructions)";

/** Reads a tool from a server's list. Nothing comes of one without a name, that hides something in names or values, or is too long. */
function readDefinition(server: string, entry: unknown): Definition | undefined {
  if (!isObject(entry)) return undefined;
  const { name } = entry;
  if (typeof name !== "string" || name === "" || name === INSTRUCTIONS || hasHidden(name)) return undefined;
  try {
    if (hidesText(entry)) return undefined;
    const listed = visibleProse(entry);
    return { listed, tool: describe(server, name, entry, listed) };
  } catch (error) {
    // Nested deeper than the stack, a number beyond all bounds, half a surrogate pair: nothing that could be compared.
    if (error instanceof Error) return undefined;
    throw error;
  }
}

function describe(server: string, name: string, entry: Message, listed: Message): McpTool {
  const { description, annotations, inputSchema } = listed;
  const definition = definitionIn(entry);
  return {
    server,
    name,
    ...(typeof description === "string" && { description }),
    ...(annotations !== undefined && { annotations: toNearlyPlain(annotations) }),
    ...(inputSchema !== undefined && { inputSchema: toNearlyPlain(inputSchema) }),
    definition,
    hash: createHash("sha256").update(definition).digest("hex"),
  };
}

/** Everything that defines a tool, but for icons and `_meta`, which servers vary freely and models do not read. */
function definitionIn({ icons: _, _meta: __, ...told }: Message): string {
  const definition = canonicalJson(toNearlyPlain(told));
  if (definition.length > MOST_DEFINITION) throw new Error("a definition that is too long");
  return definition;
}

/** JSON with sorted members (RFC 8785). Throws on what has no such form. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (isObject(value)) {
    const names = Object.keys(value).filter((name) => value[name] !== undefined);
    return `{${names
      .sort()
      .map((name) => `${canonicalJson(name)}:${canonicalJson(value[name])}`)
      .join()}}`;
  }
  if (typeof value === "string" && !value.isWellFormed()) throw new Error("half of a surrogate pair");
  if (typeof value === "number" && !Number.isFinite(value)) throw new Error("a number beyond all bounds");
  return JSON.stringify(value);
}

/**
 * Hidden characters that prose needs: line ends, tabs, the spaces of scripts, joiners, and the mark of a colored emoji.
 * Everything else that {@link HIDDEN} lists is written out, because it can carry text that only a model reads.
 */
const PROSE: ReadonlySet<string> = new Set("\n\r\t\u00a0\u3000\u200c\u200d\ufe0f");

/** What is prose of a definition: everything else has to stay as it is. */
const PROSE_MEMBERS: ReadonlySet<string> = new Set(["description", "title"]);

/** The text with hidden characters written out. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    PROSE.has(character) ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** A tool's definition in which all prose is visible, however deep in its schemas. */
export function visibleProse(definition: Message): Message {
  return Object.fromEntries(Object.entries(definition).map(([name, member]) => [name, shown(name, member)]));
}

function shown(name: string, member: unknown): unknown {
  if (typeof member === "string") return PROSE_MEMBERS.has(name) ? visible(member) : member;
  if (Array.isArray(member)) return member.map((item) => shown("", item));
  return isObject(member) ? visibleProse(member) : member;
}

/** Members of what a server lists that models do not read. */
const UNREAD: ReadonlySet<string> = new Set(["icons", "_meta"]);

/** Whether something that a server lists has hidden characters where nothing can be written out: in names and values. */
export function hidesText(listed: Message): boolean {
  return Object.entries(listed).some(([name, member]) => !UNREAD.has(name) && hides(name, member));
}

function hides(name: string, member: unknown): boolean {
  if (visible(name) !== name) return true;
  if (typeof member === "string") return !PROSE_MEMBERS.has(name) && visible(member) !== member;
  if (Array.isArray(member)) return member.some((item) => hides("", item));
  return isObject(member) && Object.entries(member).some((inner) => hides(...inner));
}

/** A tool as last listed, and whether the session may use it. */
export interface KnownTool extends McpTool {
  readonly usable: boolean;
  /** Whether its definition is not the pinned one, and not accepted yet. */
  readonly isHeld: boolean;
}

type Admitted = Pick<KnownTool, "usable" | "isHeld"> & Pick<Definition, "listed">;

/** Cursors of walks under way that are remembered. */
const MOST_CURSORS = 64;

/** What one server said of its tools in a session: what they are now, and which of them may be offered. */
export class ToolCatalog {
  readonly #server: string;
  readonly #gate: McpGate;
  readonly #faults: Faults;
  readonly #most: number;
  /** Every name that was listed, also when it no longer is. */
  readonly #seen = new Set<string>();
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
  find(name: string): KnownTool | undefined {
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
    const readable = this.#read(entries);
    walk.turn(
      cursor,
      readable.map(({ tool }) => tool.name),
    );
    this.#ambiguous = walk.ambiguous();
    if (typeof next === "string") this.#walks.set(next, walk);
    const admitted = await this.#admit(readable.filter(({ tool }) => !this.#isAmbiguous(tool.name)));
    return admitted.flatMap(({ usable, isHeld, listed }) => (usable && !isHeld ? [listed] : []));
  }

  /**
   * Takes the instructions that a server gives every model; returns the text with hidden characters written out, and nothing where
   * it is not the pinned one. Models obey it as they do the definition of a tool.
   */
  async admitInstructions(text: string): Promise<string | undefined> {
    const definition = text.isWellFormed() ? JSON.stringify({ instructions: text }) : undefined;
    if (definition === undefined || definition.length > MOST_DEFINITION) {
      this.#faults.note("tool_refused", "instructions that are too long, or no text");
      return undefined;
    }
    const hash = createHash("sha256").update(definition).digest("hex");
    const held = await this.#held([{ server: this.#server, name: INSTRUCTIONS, definition, hash }]);
    return held?.size === 0 ? visible(text) : undefined;
  }

  /** Takes what a page of a server's list says of one tool now; gives nothing where it is not on the page. */
  async confirm(name: string, entries: readonly unknown[]): Promise<KnownTool | undefined> {
    const named = entries.filter((entry) => isObject(entry) && entry.name === name);
    const [definition, ...others] = this.#read(named);
    if (others.length > 0) this.#ambiguous = new Set([...this.#ambiguous, name]);
    if (!definition || this.#isAmbiguous(name)) return undefined;
    const { tool } = definition;
    const [known] = await this.#admit([definition]);
    return known && { ...tool, usable: known.usable, isHeld: known.isHeld };
  }

  /** Forgets a tool that its server no longer lists. */
  remove(name: string): void {
    this.#listed?.delete(name);
  }

  #read(entries: readonly unknown[]): readonly Definition[] {
    const definitions = entries.map((entry) => readDefinition(this.#server, entry));
    const readable = definitions.filter((definition) => definition !== undefined);
    const unreadable = entries.length - readable.length;
    if (unreadable > 0)
      this.#faults.note("tool_refused", `${unreadable} tools with unreadable names or definitions`);
    return readable;
  }

  #isAmbiguous(name: string): boolean {
    if (!this.#ambiguous.has(name)) return false;
    this.#faults.note("tool_refused", `several tools are named ${name}`);
    this.#listed?.delete(name);
    return true;
  }

  /** Remembers tools, up to the bound, and whether they may be used. */
  async #admit(definitions: readonly Definition[]): Promise<readonly Admitted[]> {
    const known = definitions.filter(({ tool }) => this.#remembers(tool.name));
    const held = await this.#held(known.map(({ tool }) => tool));
    const admitted: Admitted[] = [];
    for (const { tool, listed } of known) {
      const isHeld = held === undefined || held.has(tool.name);
      const usable = await this.#isUsable(tool);
      this.#listed?.set(tool.name, { ...tool, usable, isHeld });
      admitted.push({ usable, isHeld, listed });
    }
    return admitted;
  }

  #remembers(name: string): boolean {
    if (!this.#seen.has(name) && this.#seen.size >= this.#most) {
      this.#faults.note("tool_refused", `more than ${this.#most} tools`);
      return false;
    }
    this.#seen.add(name);
    return true;
  }

  /** The names of the tools that are not as they were pinned; nothing where that cannot be known. */
  async #held(tools: readonly McpTool[]): Promise<ReadonlySet<string> | undefined> {
    const none = new Set<string>();
    if (tools.length === 0) return none;
    try {
      const held = (await this.#gate.pin?.(tools)) ?? none;
      for (const name of held) this.#faults.note("tool_changed", `${name} is not what it was`);
      return held;
    } catch (error) {
      this.#faults.note("gate_failed", `tools could not be pinned: ${errorMessage(error)}`, error);
      return undefined;
    }
  }

  async #isUsable(tool: McpTool): Promise<boolean> {
    try {
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
  for await (const { cursor, tools, next } of pagesOf(upstream, meta))
    await catalog.admit(cursor, tools, next);
}

/** Looks a tool up right before it is called: its server may describe it differently than when it was listed. */
export async function confirmTool(
  upstream: Upstream,
  catalog: ToolCatalog,
  name: string,
  meta: Message | undefined,
): Promise<KnownTool | undefined> {
  for await (const { tools } of pagesOf(upstream, meta)) {
    const known = await catalog.confirm(name, tools);
    if (known) return known;
  }
  catalog.remove(name);
  return undefined;
}

interface Page {
  readonly cursor: string | undefined;
  readonly tools: readonly unknown[];
  readonly next: unknown;
}

/** The pages of a server's tools. Throws when it does not answer. */
async function* pagesOf(upstream: Upstream, meta: Message | undefined): AsyncGenerator<Page> {
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const params = { ...introduction(meta), ...(cursor !== undefined && { cursor }) };
    const answer = await upstream.ask({ jsonrpc: "2.0", id: 0, method: "tools/list", params }).answer;
    if ("loss" in answer) throw new Error(answer.loss.text);
    const { tools, nextCursor } = objectIn(answer.response, "result") ?? {};
    if (!Array.isArray(tools)) return;
    yield { cursor, tools, next: nextCursor };
    if (typeof nextCursor !== "string") return;
    cursor = nextCursor;
  }
}

/** What the agent says of itself in each request since 2026; tokens and the like are for its own request alone. */
function introduction(meta: Message | undefined): Message {
  const said = Object.entries(meta ?? {}).filter(([name]) => name.startsWith("io.modelcontextprotocol/"));
  return said.length > 0 ? { _meta: Object.fromEntries(said) } : {};
}
