import { type JsonObject, parseObject } from "@reins/acp";
import {
  type AskHost,
  type DeferralSettings,
  divideTools,
  type Embed,
  promote,
  type SearchStrategy,
  searchTools,
  type ToolIndex,
  toolTokens,
} from "@reins/bridge";
import { z } from "zod";
import type { HistoryEntry } from "../history/entry.ts";
import type { ModelInfo, ToolDefinition } from "../models/model.ts";
import type { HostServices } from "./host-services.ts";
import { defineTool, type Tool, type ToolContext, ToolError } from "./tool.ts";

/** How tools are deferred and found. */
export interface ToolSearchSettings extends DeferralSettings {
  readonly strategy: SearchStrategy;
  /** Whether the model's provider searches (`native`), this agent (`client`), or the provider where it can (`auto`). */
  readonly mode: "auto" | "native" | "client";
  /** Finds names where the host or the embedding fails. */
  readonly fallback?: "bm25" | undefined;
  /** The local embedding of `semantic`. */
  readonly embed?: Embed | undefined;
}

export const TOOL_SEARCH_DEFAULTS: ToolSearchSettings = {
  strategy: "bm25",
  mode: "auto",
  threshold: 40,
  defer: [],
  alwaysLoaded: [],
  budgetTokens: 8_000,
};

/** The name of the tool that searches for others. */
export const SEARCH_TOOL = "search_tools";
/** The name under which the providers of models search. */
const NATIVE_NAMES = { bm25: "tool_search_tool_bm25", regex: "tool_search_tool_regex" } as const;

/** What a client is shown of a search. */
export type ToolSearchUpdate =
  | { readonly kind: "query"; readonly toolUseId: string; readonly query: string }
  | {
      readonly kind: "result";
      readonly toolUseId: string;
      /** The tools that can be called from the next request on. */
      readonly promoted: readonly string[];
      readonly evicted: readonly string[];
      readonly skipped: readonly string[];
      readonly diagnostic?: string | undefined;
    };

/** Whether a tool is in the prompt, was found by a search, or waits for one. */
export type ToolState = "loaded" | "promoted" | "deferred";

/** The tools of a session of which many wait behind a search. Which were found follows from the history alone. */
export class DeferredTools {
  readonly settings: ToolSearchSettings;
  /** Searches in the provider of the model, where it can. */
  readonly native: "bm25" | "regex" | undefined;
  /** Those of every prompt, the one that searches among them. */
  readonly #loaded: readonly Tool[];
  readonly #all: readonly Tool[];
  readonly #deferred: ReadonlyMap<string, Tool>;
  readonly #index: ToolIndex;
  readonly #entries: readonly HistoryEntry[];
  readonly #scope: (tools: readonly Tool[]) => readonly Tool[];
  /** What the history of a length has promoted, and what searches since then add. */
  #promoted:
    | { readonly length: number; readonly names: readonly string[]; next: readonly string[] }
    | undefined;

  private constructor(
    { loaded, deferred }: { readonly loaded: readonly Tool[]; readonly deferred: readonly Tool[] },
    { settings, index, entries, model, maySearch, scope }: DeferralContext,
  ) {
    this.settings = settings;
    this.native = maySearch ? nativeSearch(settings, model) : undefined;
    this.#all = deferred;
    this.#deferred = new Map(deferred.map((tool) => [tool.name, tool]));
    this.#index = index;
    this.#entries = entries;
    this.#scope = scope;
    index.replace(deferred);
    this.#loaded = this.native || !maySearch ? loaded : [...loaded, this.#searchTool()];
  }

  /** Defers tools; `undefined` where none are. */
  static of(tools: readonly Tool[], context: DeferralContext): DeferredTools | undefined {
    const divided = divideTools(
      tools.filter(({ name }) => name !== SEARCH_TOOL),
      context.settings,
    );
    return divided.deferred.length > 0 ? new DeferredTools(divided, context) : undefined;
  }

  /** The tools of the next request. A provider that searches gets all of them, most of them marked. */
  offered(): readonly ToolDefinition[] {
    const loaded = this.#scope(this.#loaded);
    if (!this.native) return [...loaded, ...this.#callable()];
    return [...loaded, ...this.#scope(this.#all).map((tool) => ({ ...tool, isDeferred: true }))];
  }

  /** The tool that a call names; throws where it was not found by a search yet. */
  find(name: string): Tool | undefined {
    const tool = [...this.#scope(this.#loaded), ...this.#callable()].find((one) => one.name === name);
    if (tool || !this.#scope(this.#all).some((one) => one.name === name)) return tool;
    const way = this.native ? "search for it first" : `search for it with ${SEARCH_TOOL} first`;
    throw new ToolError("unknown_tool", `${name} is not loaded; ${way}, and call it in a later message`);
  }

  /** Every tool with its state. */
  *states(): Iterable<{ readonly tool: Tool; readonly state: ToolState }> {
    const promoted = new Set(this.#names());
    for (const tool of this.#loaded) yield { tool, state: "loaded" };
    for (const [name, tool] of this.#deferred)
      yield { tool, state: promoted.has(name) ? "promoted" : "deferred" };
  }

  /** The deferred tools that can be called: those that were found, or all where skills leave only few. */
  #callable(): readonly Tool[] {
    const left = this.#scope(this.#all);
    const isNarrowed = left.length < this.#all.length;
    if (isNarrowed && left.length <= this.settings.threshold) return left;
    const found = this.#names().flatMap((name) => this.#deferred.get(name) ?? []);
    return isNarrowed ? found.filter((tool) => left.includes(tool)) : found;
  }

  /** Whether the skills in use leave a tool; all are left if undefined. */
  #accepts(): ((name: string) => boolean) | undefined {
    const left = this.#scope(this.#all);
    if (left.length === this.#all.length) return undefined;
    const names = new Set(left.map(({ name }) => name));
    return (name) => names.has(name);
  }

  /** The tools that were found, in the order in which they make room. */
  #names(): readonly string[] {
    const { length } = this.#entries;
    if (this.#promoted?.length !== length) {
      const names = searchesIn(this.#entries).reduce(
        (before: readonly string[], found) => this.#promote(before, found).loaded,
        [],
      );
      this.#promoted = { length, names, next: names };
    }
    return this.#promoted.names;
  }

  #promote(before: readonly string[], found: readonly string[]) {
    const known = found.filter((name) => this.#deferred.has(name));
    // A provider that searches keeps its own count.
    const budget = this.native ? Number.POSITIVE_INFINITY : this.settings.budgetTokens;
    return promote(before, known, (name) => this.#sizeOf(name), budget);
  }

  #sizeOf(name: string): number {
    const tool = this.#deferred.get(name);
    return tool ? toolTokens(tool) : 0;
  }

  async #search(query: string, context: ToolContext) {
    const { services, sessionId, signal } = context;
    const { strategy, fallback, embed } = this.settings;
    const askHost = askHostOf(services, sessionId);
    const { hits, diagnostic } = await searchTools(
      this.#index,
      query,
      { strategy, fallback, embed, askHost, accepts: this.#accepts() },
      signal,
    );
    const before = this.#names();
    const { loaded, promoted, evicted, skipped } = this.#promote(
      this.#promoted?.next ?? before,
      hits.map(({ name }) => name),
    );
    if (this.#promoted) this.#promoted.next = loaded;
    return { promoted, evicted, skipped, diagnostic };
  }

  /** The tool by which the model finds others. */
  #searchTool(): Tool {
    return defineTool({
      name: SEARCH_TOOL,
      description: `${WANTED[this.settings.strategy]} There are ${this.#deferred.size} more tools than are listed here, of ${sourcesOf(this.#deferred.values())}. The result names those that you can call in your next message; their parameters are listed then.`,
      kind: "search",
      isReadOnly: true,
      isInner: true,
      arguments: z.strictObject({ query: z.string().describe(QUERIES[this.settings.strategy]) }),
      title: ({ query }) => `Search tools: ${query}`,
      perform: async ({ query }, context) => {
        const { toolCallId: toolUseId } = context;
        await context.onSearch({ kind: "query", toolUseId, query });
        const found = await this.#search(query, context);
        await context.onSearch({ kind: "result", toolUseId, ...found });
        return { text: resultText(found) };
      },
    });
  }
}

/** How the host of a session is asked for tools; `undefined` where there is no bridge. */
export function askHostOf({ bridge }: HostServices, sessionId: string): AskHost | undefined {
  return bridge && ((params, signal) => bridge.call(sessionId, "tool_search/query", params, signal));
}

/** What tools are deferred by. */
export interface DeferralContext {
  readonly settings: ToolSearchSettings;
  /** The session's index, kept between turns. */
  readonly index: ToolIndex;
  /** The session's history, which grows. */
  readonly entries: readonly HistoryEntry[];
  readonly model: ModelInfo;
  /** Whether the session may use the tool that searches; without it, deferred tools cannot be found. */
  readonly maySearch: boolean;
  /** Narrows tools to those that the skills in use leave. */
  readonly scope: (tools: readonly Tool[]) => readonly Tool[];
}

const WANTED: Readonly<Record<SearchStrategy, string>> = {
  bm25: "Finds tools by words.",
  regex:
    "Finds tools by a regular expression over names, descriptions and parameters, without regard to case.",
  semantic: "Finds tools by meaning.",
  host: "Finds tools.",
};
const QUERIES: Readonly<Record<SearchStrategy, string>> = {
  bm25: "What the tool should do, and the service if it matters; such as: merge a pull request on github",
  regex: "A regular expression in RE2's syntax",
  semantic: "What the tool should do, in a sentence",
  host: "What the tool should do",
};
const MAX_SOURCES = 20;

function sourcesOf(tools: Iterable<Tool>): string {
  const counts = [...Map.groupBy(tools, ({ source = "this agent" }) => source)].map(
    ([source, { length }]) => [source, length] as const,
  );
  const named = counts.toSorted(([, left], [, right]) => right - left).slice(0, MAX_SOURCES);
  const rest = counts.length - named.length;
  const text = named.map(([source, count]) => `${source} (${count})`).join(", ");
  return rest > 0 ? `${text} and ${rest} other sources` : text;
}

function nativeSearch(
  { mode, strategy }: ToolSearchSettings,
  { toolSearch, toolSearchBy }: ModelInfo,
): "bm25" | "regex" | undefined {
  if (mode === "client" || (strategy !== "bm25" && strategy !== "regex")) return undefined;
  if (toolSearchBy !== undefined && strategy !== toolSearchBy) return undefined;
  return toolSearch === "always" || (toolSearch === "possible" && mode === "native") ? strategy : undefined;
}

function resultText({
  promoted,
  evicted,
  skipped,
  diagnostic,
}: {
  readonly promoted: readonly string[];
  readonly evicted: readonly string[];
  readonly skipped: readonly string[];
  readonly diagnostic?: string | undefined;
}): string {
  return JSON.stringify({
    tool_names: promoted,
    ...(evicted.length > 0 && { evicted }),
    ...(skipped.length > 0 && { too_large: skipped }),
    ...(diagnostic !== undefined && { diagnostic }),
  });
}

/** The names that each search of a history found, oldest first. */
function searchesIn(entries: readonly HistoryEntry[]): readonly (readonly string[])[] {
  return entries.flatMap((entry) => {
    if (entry.kind === "results")
      return entry.results.flatMap(({ name, text, isError }) =>
        name === SEARCH_TOOL && !isError ? [namesIn(parseObject(text).tool_names)] : [],
      );
    if (entry.kind !== "assistant") return [];
    return entry.parts.flatMap((part) => {
      const found = part.type === "thinking" ? part.seal?.data.found : undefined;
      return found === undefined ? [] : [namesIn(found)];
    });
  });
}

function namesIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

/** The `session/update` of a search. */
export function toolSearchUpdate(update: ToolSearchUpdate, { native, settings }: DeferredTools): JsonObject {
  const { kind, ...rest } = update;
  const { strategy } = settings;
  const name = native ? NATIVE_NAMES[native] : SEARCH_TOOL;
  return {
    sessionUpdate: `tool_search_${kind}`,
    ...rest,
    ...(kind === "query" && { name }),
    strategy,
    mode: native ? "native" : "client",
  };
}
