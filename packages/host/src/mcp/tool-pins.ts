import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject } from "@reins/acp";
import { errorMessage, raceAbort } from "@reins/kit";
import { isHttpServer, type McpGate, type McpServer, type McpTool } from "@reins/mcp";
import { change, parseStored } from "@reins/store";
import { actorOf, type Harness, lifecycleDraft, type Principal } from "@reins/supervisor";
import { recordedSubject } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { recordIn } from "../control/outcome.ts";
import type { AskableScope } from "../control/scope.ts";
import { type PinRange, type PinRow, pinTables } from "./tables.ts";

/** The most tools of one server that are pinned; what a server lists beyond is not offered. */
const MOST_PINS = 4_096;
/** The most changed tools of a server that people are asked about at a time. */
const MOST_QUESTIONS = 20;
/** The most names of tools in one entry of the ledger. */
const MOST_NAMED = 50;

/** The pin gate of one server of a session, beside the decisions about its calls. */
export type PinGate = Required<Pick<McpGate, "pin" | "accept">>;

/** What else a pin gate takes. */
interface PinGateOptions {
  /** The session's name for a tool, for records and people. */
  readonly nameOf: (tool: string) => string;
  /** Called with each tool whose definition changed, once. */
  readonly onChanged?: (tool: string, text: string) => void;
  /** Called when a changed definition was accepted. */
  readonly onAccepted: () => void;
  /** Whether no person is asked; a changed tool stays held then. */
  readonly isUnattended?: boolean;
  /** Aborts when the session ends. */
  readonly signal: AbortSignal;
}

/** The definitions of tools as they were pinned, by tenant and by what is started or reached as their server. */
export class ToolPins {
  readonly #harness: Harness;
  readonly #listeners = new Set<(pin: PinRow) => void>();

  constructor(harness: Harness) {
    this.#harness = harness;
  }

  /** Pins the tools of a server in a session, and asks people about those that changed. */
  gateFor(scope: AskableScope, server: McpServer, options: PinGateOptions): PinGate {
    const { tenant } = scope.context.principal;
    const place = { tenant, server: identityOf(server), origin: this.#originOf(server) };
    const gate = new ServerPins(this, this.#harness, { scope, place, ...options });
    return { pin: (tools) => gate.pin(tools), accept: (tool, signal) => gate.accept(tool, signal) };
  }

  /** Calls a listener with each definition that a person accepts. */
  subscribe(listener: (pin: PinRow) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies of an accepted definition. */
  accepted(pin: PinRow): void {
    for (const listener of [...this.#listeners]) listener(pin);
  }

  #originOf(server: McpServer): string {
    const text = isHttpServer(server) ? server.url : [server.command, ...server.args].join(" ");
    return String(this.#harness.redact(text)).slice(0, MOST_ORIGIN);
  }
}

const MOST_ORIGIN = 500;

/** A server is what is started or reached: neither its name nor its variables and headers. */
function identityOf(server: McpServer): string {
  const { command, args } = isHttpServer(server) ? { command: server.url, args: [] } : server;
  return createHash("sha256")
    .update(JSON.stringify([command, ...args]))
    .digest("hex");
}

type Place = Pick<PinRow, "tenant" | "server" | "origin">;
type Parts = PinGateOptions & { readonly scope: AskableScope; readonly place: Place };

/** The pins of one server as one session uses them. */
class ServerPins {
  readonly #pins: ToolPins;
  readonly #harness: Harness;
  readonly #parts: Parts;
  /** The questions of this session, also answered ones, by tool and hash. */
  readonly #questions = new Map<string, Promise<string | undefined>>();
  #open = 0;

  constructor(pins: ToolPins, harness: Harness, parts: Parts) {
    this.#pins = pins;
    this.#harness = harness;
    this.#parts = parts;
  }

  async pin(tools: readonly McpTool[]): Promise<ReadonlySet<string>> {
    let known = await this.#known(tools);
    const fresh = tools.filter(({ name }) => !known.has(name));
    if (fresh.length > 0) {
      await this.#add(fresh);
      // Another session may have pinned them first.
      known = await this.#known(tools);
    }
    const held = tools.filter(({ name, hash }) => known.get(name)?.hash !== hash);
    if (!this.#parts.isUnattended)
      for (const tool of held) if (known.has(tool.name)) void this.#question(tool);
    return new Set(held.map(({ name }) => name));
  }

  async accept(tool: McpTool, signal: AbortSignal): Promise<string | undefined> {
    const pinned = (await this.#known([tool])).get(tool.name);
    if (pinned?.hash === tool.hash) return undefined;
    if (!pinned) return `more than ${MOST_PINS} tools of its server are pinned`;
    if (this.#parts.isUnattended) return "no person is asked about it here";
    const question = this.#question(tool);
    return question ? raceAbort(question, signal) : "too many changed tools wait for an answer";
  }

  async #known(tools: readonly McpTool[]): Promise<ReadonlyMap<string, PinRow>> {
    const { tenant, server } = this.#parts.place;
    const names = tools.map(({ name }) => name);
    const pins = await this.#harness.store.query(pinTables, "of", { tenant, server, tools: names });
    return new Map(pins.map((pin) => [pin.tool, pin]));
  }

  /** Pins tools at first sight, as many as there is room for. */
  async #add(tools: readonly McpTool[]): Promise<void> {
    const { scope, place, nameOf } = this.#parts;
    const { tenant, server } = place;
    const room = MOST_PINS - (await this.#harness.store.query(pinTables, "count", { tenant, server }));
    const pins = tools.slice(0, Math.max(0, room)).map((tool) => this.#pinOf(tool, ""));
    if (pins.length === 0) return;
    const draft = lifecycleDraft(recordedSubject(scope, "performed"), "tools_pinned");
    const payload = {
      ...draft.payload,
      server: place.origin,
      count: pins.length,
      tools: pins.slice(0, MOST_NAMED).map(({ tool, hash }) => ({ tool: nameOf(tool), hash })),
    };
    await this.#harness.record([{ ...draft, target: server, payload }], {
      with: [change(pinTables, "add", { pins })],
    });
  }

  #pinOf({ name, hash = "", definition = "" }: McpTool, verdict: string): PinRow {
    const at = this.#parts.scope.context.now().toISOString();
    return { ...this.#parts.place, tool: name, hash, definition, verdict, at };
  }

  /** The question about a changed definition, asked once in a session; nothing where too many are open. */
  #question(tool: McpTool): Promise<string | undefined> | undefined {
    const key = `${tool.hash} ${tool.name}`;
    const known = this.#questions.get(key);
    if (known || this.#open >= MOST_QUESTIONS) return known;
    this.#open += 1;
    const question = this.#ask(tool)
      .catch((error: unknown) => `it could not be asked about: ${errorMessage(error)}`)
      .finally(() => {
        this.#open -= 1;
      });
    this.#questions.set(key, question);
    return question;
  }

  /** Asks about a changed definition and pins it anew where it is accepted; gives the reason where it is not. */
  async #ask(tool: McpTool): Promise<string | undefined> {
    const { scope, nameOf, onAccepted, signal } = this.#parts;
    const before = (await this.#known([tool])).get(tool.name);
    if (!before || before.hash === tool.hash) return undefined;
    this.#noteChanged(tool, before);
    // Not the server's command line: an answer is bound to the state of files that a question names.
    const shown = { tool: nameOf(tool.name), ...definitionChanges(before, tool) };
    const point = { kind: "mcp_definition", tool: "mcp/definition", arguments: shown } as const;
    let approval: string | undefined;
    const unsubscribe = this.#pins.subscribe((pin) => {
      const isSame = pin.server === before.server && pin.tenant === before.tenant && pin.tool === tool.name;
      if (!isSame || pin.hash !== tool.hash || approval === undefined) return;
      const { approvals } = this.#harness;
      void approvals.withdrawOne(approval, pin.tenant, "it was accepted in another session");
    });
    const onAsk = (id: string) => {
      approval = id;
    };
    const enforced = await enforce(scope, point, { signal, onAsk }).finally(unsubscribe);
    if (enforced.kind === "allowed") await this.#replace(tool, before, enforced.verdict.entry ?? "");
    const now = (await this.#known([tool])).get(tool.name);
    if (now?.hash !== tool.hash) return enforced.verdict.reason;
    onAccepted();
    return undefined;
  }

  async #replace(tool: McpTool, before: PinRow, verdict: string): Promise<void> {
    const { scope, nameOf } = this.#parts;
    const pin = this.#pinOf(tool, verdict);
    const draft = lifecycleDraft(recordedSubject(scope, "performed"), "tool_repinned");
    const payload = {
      ...draft.payload,
      tool: nameOf(tool.name),
      before: before.hash,
      after: pin.hash,
      verdict,
    };
    await this.#harness.record([{ ...draft, target: pin.server, payload }], {
      with: [change(pinTables, "replace", { pin, was: before.hash })],
    });
    this.#pins.accepted(pin);
  }

  /** A server that describes a tool differently than before is shown and recorded: the description is what a model obeys. */
  #noteChanged({ name, hash = "" }: McpTool, before: PinRow): void {
    const { scope, nameOf, onChanged } = this.#parts;
    const tool = nameOf(name);
    const draft = lifecycleDraft(recordedSubject(scope, "performed"), "tool_changed");
    const payload = { ...draft.payload, tool, before: before.hash, after: hash };
    recordIn(scope, [{ ...draft, target: tool, payload }]);
    onChanged?.(tool, `The MCP tool ${tool} is defined differently than before; it waits for an approval.`);
  }
}

/** The pins of a principal's tenant; `after` is the last of the page before, as server and tool with a slash between. */
export function listPins(
  { store }: Pick<Harness, "store">,
  { tenant }: Pick<Principal, "tenant">,
  {
    after,
    ...range
  }: Omit<PinRange, "tenant"> & { readonly after?: string | undefined; readonly limit: number },
): Promise<PinRow[]> {
  const slash = after?.indexOf("/") ?? -1;
  const last = after !== undefined && slash >= 0;
  const from = last ? { server: after.slice(0, slash), tool: after.slice(slash + 1) } : undefined;
  return store.query(pinTables, "list", { ...range, tenant, after: from });
}

/** Removes pins of a principal's tenant, on the record; gives how many there were. */
export async function resetPins(
  harness: Pick<Harness, "record">,
  principal: Principal,
  range: { readonly server: string; readonly tool?: string | undefined },
): Promise<number> {
  const { tenant, id, kind } = principal;
  const entry = {
    quality: "policy_change",
    actor: actorOf(principal),
    target: range.server,
    tags: ["mcp_pins", `tenant:${tenant}`],
    payload: { change: "tool_pins_reset", ...range, tenant, by: { principal: id, kind } },
  } as const;
  const { results } = await harness.record([entry], {
    with: [change(pinTables, "remove", { ...range, tenant })],
  });
  return Number(results[0]);
}

/** The most characters of each side of a change that people are shown. */
const MOST_SHOWN = 4_000;
/** The characters that are the same around a change. */
const CONTEXT = 60;

/** What changed in the definition of a tool, for people: member by member, and the hashes that are accepted. */
export function definitionChanges(
  before: Pick<PinRow, "hash" | "definition">,
  { hash = "", definition = "{}" }: Pick<McpTool, "hash" | "definition">,
): JsonObject {
  const [was, is] = [membersOf(before.definition), membersOf(definition)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort();
  const changes = names.flatMap((member) =>
    isDeepStrictEqual(was[member], is[member]) ? [] : [{ member, ...shownChange(was[member], is[member]) }],
  );
  return { changes, hashes: { before: before.hash, after: hash } };
}

function membersOf(definition: string): JsonObject {
  const parsed = parseStored(definition);
  return isObject(parsed) ? parsed : {};
}

/** Both sides of a change: what differs, with a little of what is the same around it. */
function shownChange(before: unknown, after: unknown): JsonObject {
  const [was, is] = [textOf(before), textOf(after)];
  if (was === undefined || is === undefined) return { before: cut(was), after: cut(is) };
  let [start, end] = [0, 0];
  const shorter = Math.min(was.length, is.length);
  while (start < shorter && was[start] === is[start]) start += 1;
  while (end < shorter - start && was.at(-1 - end) === is.at(-1 - end)) end += 1;
  const part = (text: string) => {
    const [from, to] = [Math.max(0, start - CONTEXT), Math.min(text.length, text.length - end + CONTEXT)];
    return `${from > 0 ? "… " : ""}${cut(text.slice(from, to))}${to < text.length ? " …" : ""}`;
  };
  return { before: part(was), after: part(is) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || value === undefined ? value : JSON.stringify(value);
}

function cut(text: string | undefined): string | null {
  if (text === undefined || text.length <= MOST_SHOWN) return text ?? null;
  return `${text.slice(0, MOST_SHOWN)} … and ${text.length - MOST_SHOWN} more characters`;
}
