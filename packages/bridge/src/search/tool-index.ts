import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { isRecord, type JsonObject } from "@reins/kit";
import { qualifiedNames } from "../host-tools/host-tools.ts";
import { Bm25Index, explain } from "./bm25.ts";
import { synonymsOf } from "./synonyms.ts";
import { TextBudget } from "./tool-search.ts";

/** A tool that can be searched for. */
export interface SearchableTool {
  /** What it is called by; no two tools share it. */
  readonly name: string;
  /** Its name at its source, without a prefix; the name when absent. */
  readonly label?: string | undefined;
  readonly description: string;
  /** A JSON Schema. */
  readonly parameters: JsonObject | null;
  /** What offers it, such as the name of an MCP server; absent for the agent's own tools. */
  readonly source?: string | undefined;
  /** Further words, such as a category. */
  readonly tags?: readonly string[] | undefined;
}

/** A tool that was found. */
export interface ToolHit {
  readonly name: string;
  readonly score: number;
  /** Which words were found where. */
  readonly why: string;
}

/** The most tools that a search returns. */
export const MAX_HITS = 20;
/** Characters of one field that count. */
const MAX_FIELD = 4_000;
/** Characters of all tools that count. */
const MAX_INDEXED = 4 * 1024 * 1024;
/** How many characters are indexed at a time, and what a tool counts at least. */
const PART = 16 * 1024;
const MIN_WORK = 64;
const WEIGHTS = { name: 3, tags: 2.5, description: 1.5, parameters: 0.3 };

/** The texts of a tool in which words are found. */
export type ToolFields = Readonly<Record<keyof typeof WEIGHTS, string>>;

/** Tools by the names that people and hosts know: the name at its source, or `source/name` where two share it. */
export function namedTools(tools: readonly SearchableTool[]): ReadonlyMap<string, SearchableTool> {
  const names = qualifiedNames(tools.map(({ source, name, label = name }) => ({ source, name: label })));
  return new Map(tools.map((tool, index) => [names[index] ?? tool.name, tool]));
}

/** The texts of a tool by field. */
export function fieldsOf(tool: SearchableTool): ToolFields {
  const { name, label = name, source = "", description, parameters, tags = [] } = tool;
  const cut = (text: string) => text.slice(0, MAX_FIELD);
  return {
    name: cut(label),
    tags: cut([source, ...tags].join(" ")),
    description: cut(description),
    parameters: cut(parametersText(parameters)),
  };
}

/** The parameters of the first level with their descriptions, one a line. */
function parametersText(parameters: JsonObject | null): string {
  const properties = parameters?.properties;
  if (!isRecord(properties)) return "";
  return Object.entries(properties)
    .map(([name, schema]) => {
      const about = isRecord(schema) && typeof schema.description === "string" ? schema.description : "";
      return about === "" ? name : `${name}: ${about}`;
    })
    .join("\n");
}

/**
 * An index of tools that is changed as tools come and go. What changed is indexed when it is searched, in parts, so that
 * thousands of tools keep nothing else waiting.
 */
export class ToolIndex {
  /** What is to be found. */
  #tools: ReadonlyMap<string, SearchableTool> = new Map();
  readonly #index = new Bm25Index(WEIGHTS, { expand: synonymsOf });
  readonly #budget = new TextBudget(MAX_INDEXED);
  /** What is indexed of each tool. */
  readonly #indexed = new Map<string, { readonly tool: SearchableTool; readonly size: number }>();
  /** The names of tools that may have changed since they were indexed. */
  readonly #changed = new Set<string>();
  #indexing: Promise<void> | undefined;

  constructor(tools: Iterable<SearchableTool> = []) {
    this.replace(tools);
  }

  /** The tools in the order of their arrival. */
  get tools(): ReadonlyMap<string, SearchableTool> {
    return this.#tools;
  }

  /** Makes the index hold these tools; one that did not change is not indexed again. */
  replace(tools: Iterable<SearchableTool>): void {
    const before = this.#tools;
    this.#tools = new Map(Array.from(tools, (tool) => [tool.name, tool]));
    for (const name of before.keys()) if (!this.#tools.has(name)) this.#changed.add(name);
    for (const [name, tool] of this.#tools)
      if (this.#indexed.get(name)?.tool !== tool) this.#changed.add(name);
  }

  /** The best matches for words, best first. */
  async search(query: string, accepts?: (name: string) => boolean): Promise<readonly ToolHit[]> {
    while (this.#changed.size > 0) {
      this.#indexing ??= this.#indexChanged().finally(() => {
        this.#indexing = undefined;
      });
      await this.#indexing;
    }
    return this.#index
      .search(query, { limit: MAX_HITS, ...(accepts && { accepts }) })
      .map(({ id, score, matches }) => ({ name: id, score, why: explain(matches) }));
  }

  async #indexChanged(): Promise<void> {
    let left = PART;
    for (const name of this.#changed) {
      this.#changed.delete(name);
      left -= MIN_WORK + this.#update(name, this.#tools.get(name));
      if (left > 0) continue;
      await setImmediate();
      left = PART;
    }
  }

  /** Indexes a tool, or takes out one that is gone; returns how many characters that concerned. */
  #update(name: string, tool: SearchableTool | undefined): number {
    const known = this.#indexed.get(name);
    const fields = tool && fieldsOf(tool);
    if (known && fields && isDeepStrictEqual(fieldsOf(known.tool), fields)) {
      this.#indexed.set(name, { ...known, tool });
      return known.size;
    }
    this.#budget.give(known?.size ?? 0);
    if (!fields) {
      this.#indexed.delete(name);
      this.#index.remove(name);
      return known?.size ?? 0;
    }
    const taken = {
      name: this.#budget.take(fields.name),
      tags: this.#budget.take(fields.tags),
      description: this.#budget.take(fields.description),
      parameters: this.#budget.take(fields.parameters),
    };
    const size = Object.values(taken).reduce((sum, { length }) => sum + length, 0);
    this.#indexed.set(name, { tool, size });
    this.#index.put(name, taken);
    return size + (known?.size ?? 0);
  }
}

/** Which tools stay out of the prompt until a search finds them. */
export interface DeferralSettings {
  /** Tools of MCP servers and of the host are deferred when there are more than this. */
  readonly threshold: number;
  /** Tools that are deferred however many there are; `*` at the end of a name stands for any text. */
  readonly defer: readonly string[];
  /** Tools that are never deferred; `*` at the end of a name stands for any text. */
  readonly alwaysLoaded: readonly string[];
  /** How many tokens of tools that were found a prompt may hold. */
  readonly budgetTokens: number;
}

/** The tools of a prompt, and those behind the search. */
export interface DividedTools<Tool> {
  readonly loaded: readonly Tool[];
  readonly deferred: readonly Tool[];
}

/** Divides tools into those that the prompt lists and those that a search finds. Tools without a source are the agent's own. */
export function divideTools<Tool extends Partial<SearchableTool> & Pick<SearchableTool, "name">>(
  tools: readonly Tool[],
  { threshold, defer, alwaysLoaded }: Pick<DeferralSettings, "threshold" | "defer" | "alwaysLoaded">,
): DividedTools<Tool> {
  const isMany = tools.filter(({ source }) => source !== undefined).length > threshold;
  const isDeferred = (tool: Tool) => {
    if (isNamed(tool, alwaysLoaded)) return false;
    return isNamed(tool, defer) || (isMany && tool.source !== undefined);
  };
  const deferred = new Set(tools.filter(isDeferred));
  return { loaded: tools.filter((tool) => !deferred.has(tool)), deferred: [...deferred] };
}

/** Whether a list names a tool: by what it is called by, by its name at its source, or by both as `source/name`. */
function isNamed({ name, label = name, source }: Partial<SearchableTool>, list: readonly string[]): boolean {
  const names = [name, label, `${source}/${label}`];
  return list.some((pattern) =>
    pattern.endsWith("*")
      ? names.some((one) => one?.startsWith(pattern.slice(0, -1)))
      : names.includes(pattern),
  );
}

/** The tools in a prompt after a search, oldest first, and what the search changed. */
export interface Promotion {
  readonly loaded: readonly string[];
  readonly promoted: readonly string[];
  /** Tools that made room. */
  readonly evicted: readonly string[];
  /** Tools that are larger than what is left of the budget. */
  readonly skipped: readonly string[];
}

/**
 * Promotes tools that a search found, best first, under a budget. Tools of earlier searches make room, the oldest first;
 * those of the same search do not make room for one another.
 */
export function promote(
  before: readonly string[],
  found: readonly string[],
  sizeOf: (name: string) => number,
  budget: number,
): Promotion {
  const earlier = before.filter((name) => !found.includes(name));
  const [promoted, evicted, skipped]: [string[], string[], string[]] = [[], [], []];
  let used = earlier.reduce((sum, name) => sum + sizeOf(name), 0);
  let mine = 0;
  for (const name of found) {
    const size = sizeOf(name);
    if (mine + size > budget) {
      skipped.push(name);
      continue;
    }
    while (used + size > budget) {
      const oldest = earlier.shift();
      if (oldest === undefined) break;
      evicted.push(oldest);
      used -= sizeOf(oldest);
    }
    promoted.push(name);
    mine += size;
    used += size;
  }
  return { loaded: [...earlier, ...promoted], promoted, evicted, skipped };
}

/** Estimates the tokens of a tool in a prompt. */
export function toolTokens({
  name,
  description,
  parameters,
}: Pick<SearchableTool, "name" | "description" | "parameters">): number {
  return Math.ceil(JSON.stringify({ name, description, parameters }).length / 4);
}
