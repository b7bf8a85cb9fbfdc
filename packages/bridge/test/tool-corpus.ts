import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SearchableTool } from "../src/search/tool-index.ts";

/** A query of the corpus and the tools that answer it. */
export interface CorpusQuery {
  readonly query: string;
  readonly accepted: readonly string[];
}

/** The queries by which the ranker was made, those that were written then, and those written when both were done. */
export type QueryFile = "queries" | "held-out" | "unseen";

const FOLDER = join(import.meta.dirname, "corpus");

/** Realistic tools of many services: a line `# service`, then `name | description | parameter; parameter` for each. */
export function corpusTools(): readonly SearchableTool[] {
  const files = readdirSync(join(FOLDER, "tools")).toSorted();
  return files.flatMap((file) => {
    let source = "";
    return linesOf(join("tools", file)).flatMap((line) => {
      if (line.startsWith("# ")) {
        source = line.slice(2);
        return [];
      }
      const [, name = "", description = "", parameters = ""] = /^(\S+) \| (.*) \|(.*)$/.exec(line) ?? [];
      if (name === "") throw new Error(`${file}: ${line}`);
      return [{ name, description, source, parameters: schemaOf(parameters) }];
    });
  });
}

function schemaOf(parameters: string): { readonly type: "object"; readonly properties: object } {
  const names = parameters.split(";").map((name) => name.trim());
  const properties = names.filter((name) => name !== "").map((name) => [name, { type: "string" }]);
  return { type: "object", properties: Object.fromEntries(properties) };
}

/** Queries as people and models ask them, with the accepted answers: `query | name, name`. */
export function corpusQueries(file: QueryFile): readonly CorpusQuery[] {
  return linesOf(`${file}.txt`).map((line) => {
    const [query = "", names = ""] = line.split(" | ");
    return { query, accepted: names.split(", ") };
  });
}

function linesOf(path: string): readonly string[] {
  return readFileSync(join(FOLDER, path), "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

/** The ranker of the protocol's first implementation: Okapi BM25 over one text, without stems, fields or synonyms. */
export function plainBm25(tools: readonly SearchableTool[]): (query: string) => readonly string[] {
  const split = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const documents = tools.map(({ name, description, parameters, source }) => {
    const names = Object.keys(Object(parameters?.properties)).join(" ");
    const words = split(`${name} ${description} ${names} mcp:${source} ${source}`);
    const counts = new Map<string, number>();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { name, counts, length: words.length };
  });
  const average = documents.reduce((sum, { length }) => sum + length, 0) / documents.length;
  const holders = (word: string) => documents.filter(({ counts }) => counts.has(word)).length;
  return (query) => {
    const weights = split(query).map((word) => {
      const held = holders(word);
      return { word, weight: Math.log((documents.length - held + 0.5) / (held + 0.5) + 1) };
    });
    return documents
      .map(({ name, counts, length }) => {
        const score = weights.reduce((sum, { word, weight }) => {
          const count = counts.get(word) ?? 0;
          return sum + (weight * count * 2.5) / (count + 1.5 * (0.25 + (0.75 * length) / average));
        }, 0);
        return { name, score };
      })
      .filter(({ score }) => score > 0)
      .toSorted((left, right) => right.score - left.score || (left.name < right.name ? -1 : 1))
      .map(({ name }) => name);
  };
}

/** The share of queries that have an accepted tool among the first five names. */
export async function foundAmongFive(
  queries: readonly CorpusQuery[],
  search: (query: string) => readonly string[] | Promise<readonly string[]>,
): Promise<number> {
  let found = 0;
  for (const { query, accepted } of queries)
    if ((await search(query)).slice(0, 5).some((name) => accepted.includes(name))) found += 1;
  return found / queries.length;
}
