import { expect, test } from "vitest";
import { corpusQueries, corpusTools, plainBm25 } from "../../test/tool-corpus.ts";
import { ToolIndex } from "./tool-index.ts";

const tools = corpusTools();
const index = new ToolIndex(tools);
const plain = plainBm25(tools);
const rankers = {
  ours: (query: string) => index.search(query).map(({ name }) => name),
  plain: (query: string) => plain(query),
};

/** The number of queries with an accepted tool among the first five. */
function found(file: "queries" | "held-out", ranker: keyof typeof rankers): number {
  return corpusQueries(file).filter(({ query, accepted }) =>
    rankers[ranker](query)
      .slice(0, 5)
      .some((name) => accepted.includes(name)),
  ).length;
}

test("the corpus has a thousand tools and 200 queries whose answers exist", () => {
  const names = new Set(tools.map(({ name }) => name));
  expect(tools.length).toBeGreaterThanOrEqual(1_000);
  expect(names.size).toBe(tools.length);
  const queries = [...corpusQueries("queries"), ...corpusQueries("held-out")];
  expect(queries).toHaveLength(200);
  expect(new Set(queries.map(({ query }) => query)).size).toBe(200);
  expect(queries.flatMap(({ accepted }) => accepted).filter((name) => !names.has(name))).toEqual([]);
});

test("an accepted tool is among the first five for 95 % of the queries", () => {
  const counts = Object.fromEntries(
    (["ours", "plain"] as const).map((ranker) => {
      const [tuned, heldOut] = [found("queries", ranker), found("held-out", ranker)];
      return [ranker, { tuned: tuned / 140, heldOut: heldOut / 60, all: (tuned + heldOut) / 200 }];
    }),
  );
  console.info(`found among the first five: ${JSON.stringify(counts)}`);
  expect(counts.ours?.all).toBeGreaterThanOrEqual(0.95);
  expect(counts.ours?.heldOut).toBeGreaterThan(counts.plain?.heldOut ?? 1);
});
