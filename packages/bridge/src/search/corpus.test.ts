import { expect, test } from "vitest";
import { corpusQueries, corpusTools, foundAmongFive, plainBm25 } from "../../test/tool-corpus.ts";
import { ToolIndex } from "./tool-index.ts";

const tools = corpusTools();
const index = new ToolIndex(tools);
const plain = plainBm25(tools);
const rankers = {
  ours: async (query: string) => (await index.search(query)).map(({ name }) => name),
  plain,
};
const QUERIES = [...corpusQueries("queries"), ...corpusQueries("held-out")];
const UNSEEN = corpusQueries("unseen");

test("the corpus has a thousand tools and 200 queries whose answers exist", () => {
  const names = new Set(tools.map(({ name }) => name));
  expect(tools.length).toBeGreaterThanOrEqual(1_000);
  expect(names.size).toBe(tools.length);
  expect([QUERIES.length, UNSEEN.length]).toEqual([200, 60]);
  const queries = [...QUERIES, ...UNSEEN];
  expect(new Set(queries.map(({ query }) => query)).size).toBe(260);
  expect(queries.flatMap(({ accepted }) => accepted).filter((name) => !names.has(name))).toEqual([]);
});

test("an accepted tool is among the first five for 95 % of the queries", async () => {
  const shares = {
    ours: await foundAmongFive(QUERIES, rankers.ours),
    plain: await foundAmongFive(QUERIES, rankers.plain),
    oursUnseen: await foundAmongFive(UNSEEN, rankers.ours),
    plainUnseen: await foundAmongFive(UNSEEN, rankers.plain),
  };
  console.info(`found among the first five: ${JSON.stringify(shares)}`);
  expect(shares.ours).toBeGreaterThanOrEqual(0.95);
  expect(shares.oursUnseen).toBeGreaterThan(shares.plainUnseen);
});
