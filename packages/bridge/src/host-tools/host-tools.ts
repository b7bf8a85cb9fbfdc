import { isObject, type JsonObject } from "@reins/acp";
import { type Clock, errorMessage, hasHidden, LruCache, systemClock } from "@reins/kit";
import { BridgeCallError, type BridgePort, unwrapped } from "../wire/bridge-port.ts";

/** How long a list is used, and how long a host that failed is not asked again. */
const FRESH_MS = 60_000;
const FAILED_MS = 30_000;
const MOST_SESSIONS = 1_000;

const NONE: HostToolList = { tools: [], warnings: [] };

interface Listed {
  readonly list: HostToolList;
  readonly until: number;
}

/** What a call of a host's tool needs. */
export interface HostToolCall {
  readonly sessionId: string;
  readonly signal: AbortSignal;
  /** The call that permission was asked for. */
  readonly toolCallId?: string | undefined;
}

/** The tools that the hosts of sessions lend. A list is cached until the host says that it changed, or for a minute. */
export class HostTools {
  readonly #bridge: BridgePort;
  readonly #clock: Pick<Clock, "now">;
  readonly #listed = new LruCache<string, Listed>({ entries: MOST_SESSIONS });
  /** The sessions whose host is asked to report changes, with what unsubscribes. */
  readonly #subscribed = new Map<string, () => void>();

  constructor(bridge: BridgePort, clock: Pick<Clock, "now"> = systemClock) {
    this.#bridge = bridge;
    this.#clock = clock;
  }

  /** The tools that the host of a session lends. A host that fails lends none, with a warning; a missing one without. */
  async hostToolList(sessionId: string, signal: AbortSignal): Promise<HostToolList> {
    this.#subscribe(sessionId);
    const known = this.#listed.get(sessionId);
    if (known && known.until > this.#now()) return known.list;
    // Most sessions have no host: to find that by a failed call takes longer than all else here.
    if (this.#bridge.offers?.(sessionId, "host/tools/list") === false) return NONE;
    try {
      const list = readHostTools(await this.#bridge.call(sessionId, "host/tools/list", {}, signal));
      this.#keep(sessionId, list, FRESH_MS);
      return list;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BridgeCallError && error.code === "no_host") return NONE;
      const list = { tools: [], warnings: [errorMessage(error)] };
      this.#keep(sessionId, list, FAILED_MS);
      return list;
    }
  }

  /** Has the host of a session run a tool; rejects with a {@link BridgeCallError} when it fails. */
  async hostToolCall(name: HostTool["name"], args: unknown, call: HostToolCall): Promise<unknown> {
    const { sessionId, signal, toolCallId } = call;
    const params = { name, args: [args], ...(toolCallId !== undefined && { toolCallId }) };
    return unwrapped(await this.#bridge.call(sessionId, "builtin_call", params, signal));
  }

  /** Forgets the tools of a session, whose host has others now. */
  invalidate(sessionId: string): void {
    this.#listed.delete(sessionId);
  }

  /** Forgets a session. */
  forget(sessionId: string): void {
    this.invalidate(sessionId);
    this.#subscribed.get(sessionId)?.();
    this.#subscribed.delete(sessionId);
  }

  #subscribe(sessionId: string): void {
    if (this.#subscribed.has(sessionId)) return;
    const unsubscribe = this.#bridge.subscribe(sessionId, "host/tools/update", () =>
      this.invalidate(sessionId),
    );
    this.#subscribed.set(sessionId, unsubscribe);
    const [oldest] = this.#subscribed.size > MOST_SESSIONS ? this.#subscribed.keys() : [];
    if (oldest !== undefined) this.forget(oldest);
  }

  #keep(sessionId: string, list: HostToolList, milliseconds: number): void {
    this.#listed.set(sessionId, { list, until: this.#now() + milliseconds });
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

const MAX_TEXT = 1024 * 1024;

/** The result of a host's tool as a model reads it. */
export function hostToolText(result: unknown): string {
  const text = typeof result === "string" ? result : (JSON.stringify(result) ?? "(nothing)");
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n[cut here]` : text;
}

/** The description of a host's tool as a model reads it. */
export function hostToolDescription({ description, deprecated }: HostTool): string {
  return deprecated ? `[deprecated] ${description}`.trim() : description;
}

/** A tool that a host lends, in its normal form: exactly these members. */
export interface HostTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of its one argument; null where the host gives none. */
  readonly schema: JsonObject | null;
  readonly deprecated: boolean;
}

/** The tools of a host, and what of its list could not be used. */
export interface HostToolList {
  readonly tools: readonly HostTool[];
  readonly warnings: readonly string[];
}

const MAX_TOOLS = 10_000;
const MAX_NAME = 128;
const MAX_DESCRIPTION = 8_192;
const MAX_SCHEMA = 64 * 1024;
const MAX_WARNINGS = 20;

/**
 * Reads the reply to `host/tools/list`: `{ tools }`, a list alone, or either in an envelope, with the names of members that
 * hosts use. An entry that is no tool is dropped with a warning. Throws where there is no list.
 */
export function readHostTools(reply: unknown): HostToolList {
  const body = unwrapped(reply);
  const list: unknown = Array.isArray(body) ? body : isObject(body) ? body.tools : undefined;
  if (!Array.isArray(list)) throw new Error("the reply to host/tools/list has no list of tools");
  const tools = new Map<string, HostTool>();
  const warnings: string[] = [];
  for (const [index, entry] of list.slice(0, MAX_TOOLS).entries()) {
    const tool = readTool(entry);
    if (typeof tool === "string") warnings.push(`entry ${index + 1} was left out: ${tool}`);
    else if (tools.has(tool.name))
      warnings.push(`entry ${index + 1} was left out: ${tool.name} is there already`);
    else tools.set(tool.name, tool);
  }
  if (list.length > MAX_TOOLS) warnings.push(`of ${list.length} tools the first ${MAX_TOOLS} are used`);
  const more = warnings.length - MAX_WARNINGS;
  return {
    tools: [...tools.values()],
    warnings: more > 0 ? [...warnings.slice(0, MAX_WARNINGS), `and ${more} more warnings`] : warnings,
  };
}

/** A tool in its normal form, or why the entry is none. */
function readTool(entry: unknown): HostTool | string {
  if (!isObject(entry)) return "it is no object";
  const { name, deprecated } = entry;
  if (typeof name !== "string" || name.trim() === "") return "it has no name";
  if (name.length > MAX_NAME || hasHidden(name) || name.trim() !== name)
    return `its name is longer than ${MAX_NAME} characters or holds some that cannot be seen`;
  const description = [entry.description, entry.short_description].find((one) => typeof one === "string");
  const schema = [entry.schema, entry.parameters, entry.input_schema].find(isObject) ?? null;
  if (schema && JSON.stringify(schema).length > MAX_SCHEMA)
    return `the schema of ${name} has more than ${MAX_SCHEMA} characters`;
  return {
    name,
    description: typeof description === "string" ? description.slice(0, MAX_DESCRIPTION) : "",
    schema,
    deprecated: deprecated === true,
  };
}

/** A tool by where it comes from: an MCP server, or `host`; the agent's own tools have no source. */
export interface SourcedName {
  readonly source?: string | undefined;
  readonly name: string;
}

/** The source of the tools that the host of a session lends. */
export const HOST_SOURCE = "host";

/**
 * The names under which tools are offered, found and called, in their order. A name that tools of several sources have,
 * letter case aside, is qualified for each of them as `source/name`; the agent's own tools keep theirs.
 */
export function qualifiedNames(tools: readonly SourcedName[]): readonly string[] {
  const sources = new Map<string, Set<string | undefined>>();
  for (const { source, name } of tools) {
    const folded = name.toLowerCase();
    sources.set(folded, (sources.get(folded) ?? new Set()).add(source));
  }
  return tools.map(({ source, name }) =>
    source === undefined || sources.get(name.toLowerCase())?.size === 1 ? name : `${source}/${name}`,
  );
}

const MAX_MODEL_NAME = 64;

/** A name that the interfaces of all models accept: `host/deploy` becomes `host__deploy`. */
export function modelToolName(name: string): string {
  return name
    .replaceAll("/", "__")
    .replace(/[^A-Za-z0-9_-]/g, "_")
    .slice(0, MAX_MODEL_NAME);
}
