import { isDeepStrictEqual } from "node:util";
import { isRecord, type JsonObject } from "@reins/kit";
import { qualifiedNames } from "../qualified-names.ts";
import { Bm25Index, explain } from "./bm25.ts";
import { synonymsOf } from "./synonyms.ts";
import { TextBudget } from "./text-budget.ts";

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

function isSame(known: SearchableTool | undefined, tool: SearchableTool): boolean {
  return known === tool || (known !== undefined && isDeepStrictEqual(fieldsOf(known), fieldsOf(tool)));
}

/** An index of tools that is changed as tools come and go. */
export class ToolIndex {
  readonly #tools = new Map<string, SearchableTool>();
  readonly #index = new Bm25Index(WEIGHTS, { expand: synonymsOf });
  readonly #budget = new TextBudget(MAX_INDEXED);
  /** How many characters of each tool are indexed. */
  readonly #sizes = new Map<string, number>();

  constructor(tools: Iterable<SearchableTool> = []) {
    this.replace(tools);
  }

  /** The tools in the order of their arrival. */
  get tools(): ReadonlyMap<string, SearchableTool> {
    return this.#tools;
  }

  /** Makes the index hold these tools; one that did not change is not indexed again. */
  replace(tools: Iterable<SearchableTool>): void {
    const gone = new Set(this.#tools.keys());
    for (const tool of tools) {
      gone.delete(tool.name);
      if (!isSame(this.#tools.get(tool.name), tool)) this.put(tool);
    }
    for (const name of gone) this.remove(name);
  }

  put(tool: SearchableTool): void {
    this.#tools.set(tool.name, tool);
    this.#budget.give(this.#sizes.get(tool.name) ?? 0);
    const { name, tags, description, parameters } = fieldsOf(tool);
    const taken = {
      name: this.#budget.take(name),
      tags: this.#budget.take(tags),
      description: this.#budget.take(description),
      parameters: this.#budget.take(parameters),
    };
    this.#sizes.set(
      tool.name,
      Object.values(taken).reduce((sum, { length }) => sum + length, 0),
    );
    this.#index.put(tool.name, taken);
  }

  remove(name: string): void {
    this.#tools.delete(name);
    this.#budget.give(this.#sizes.get(name) ?? 0);
    this.#sizes.delete(name);
    this.#index.remove(name);
  }

  /** The best matches for words, best first. */
  search(query: string, accepts?: (name: string) => boolean): readonly ToolHit[] {
    return this.#index
      .search(query, { limit: MAX_HITS, ...(accepts && { accepts }) })
      .map(({ id, score, matches }) => ({ name: id, score, why: explain(matches) }));
  }
}
