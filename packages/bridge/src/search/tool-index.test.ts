import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { type SearchableTool, ToolIndex } from "./tool-index.ts";

const tool = (name: string, description: string): SearchableTool => ({ name, description, parameters: null });
const found = async (index: ToolIndex, query: string) => (await index.search(query)).map(({ name }) => name);

test("an index takes the first tools whole, and of those beyond its budget the beginning, until others go", async () => {
  const filler = "x".repeat(3_900);
  const many = Array.from({ length: 1_200 }, (_, index) => tool(`tool${index}`, filler));
  const [first, last] = [tool("first", `${filler} zebra`), tool("last", `lion ${filler} tiger`)];
  const index = new ToolIndex([first, ...many, last]);
  expect(await found(index, "zebra")).toEqual(["first"]);
  expect(await found(index, "lion")).toEqual(["last"]);
  expect(await found(index, "tiger")).toEqual([]);
  index.replace([first]);
  expect(await found(index, "lion")).toEqual([]);
  index.replace([first, last]);
  expect(await found(index, "tiger")).toEqual(["last"]);
});

const MANY = Array.from({ length: 10_000 }, (_, index) => tool(`tool_${index}`, `reads record ${index}`));

/** How often other work gets its turn until something is done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  const state = { turns: 0, isOver: false };
  const over = work.finally(() => {
    state.isOver = true;
  });
  while (!state.isOver) {
    await setImmediate();
    state.turns += 1;
  }
  await over;
  return state.turns;
}

test("ten thousand tools are indexed in parts, once, however many search meanwhile", async () => {
  const index = new ToolIndex(MANY);
  const searches = Promise.all([found(index, "7 record"), found(index, "tool 9999")]);
  expect(await turnsDuring(searches)).toBeGreaterThan(25);
  expect((await searches).map(([first]) => first)).toEqual(["tool_7", "tool_9999"]);
  expect(await turnsDuring(found(index, "8 record"))).toBeLessThan(5);
});

test("tools that change while they are indexed are found as they are at the end", async () => {
  const index = new ToolIndex(MANY);
  const early = found(index, "zebra");
  await setImmediate();
  index.replace([tool("tool_1", "feeds a zebra"), ...MANY.slice(5_000)]);
  expect(await early).toEqual(["tool_1"]);
  expect(await found(index, "record 2")).not.toContain("tool_2");
  expect(index.tools.size).toBe(5_001);
});

test("tools that are the same in other objects are not indexed again", async () => {
  const index = new ToolIndex(MANY.slice(0, 100));
  expect(await found(index, "record 7")).toContain("tool_7");
  index.replace(MANY.slice(0, 100).map((one) => ({ ...one })));
  expect(await found(index, "record 7")).toContain("tool_7");
});
