import { expect, test } from "vitest";
import { ADDING } from "../bench/tasks/adding.ts";
import { CHANGING } from "../bench/tasks/changing.ts";
import { evaluateScripted, evaluationTable } from "../bench/tasks/evaluation.ts";
import { FIXING } from "../bench/tasks/fixing.ts";

const ALL = [...FIXING, ...ADDING, ...CHANGING];
/** How often a person is asked in some tasks of different kinds. */
const ASKS: ReadonlyMap<string, number> = new Map([
  ["three broken modules", 2],
  ["far down in a long file", 0],
  ["an edit that does not fit", 1],
  ["a file that nothing needs", 1],
  ["a file that holds a key", 0],
]);
const named = (...names: readonly string[]) => ALL.filter(({ name }) => names.includes(name));

test("there are thirty tasks, each with a name of its own", () => {
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(30);
});

test("the governed agent does all its tasks with the requests and calls of one that nothing governs", async () => {
  const comparisons = await evaluateScripted(ALL);
  expect(comparisons).toHaveLength(30);
  for (const { task, governed, bare } of comparisons) {
    expect([task.name, governed.fault, bare.fault]).toEqual([task.name, undefined, undefined]);
    expect([task.name, governed.requests, governed.calls]).toEqual([task.name, bare.requests, bare.calls]);
    expect(governed.cost).toBeGreaterThan(0);
  }
  const asks = new Map(comparisons.map(({ task, governed }) => [task.name, governed.asks]));
  expect([...asks].filter(([name]) => ASKS.has(name))).toEqual([...ASKS]);
  // A person is asked about once per task.
  expect([...asks.values()].reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(35);
}, 300_000);

test("work that was not done is not passed, and the table says what is wrong", async () => {
  const [task] = named("a setting");
  if (!task) throw new Error("there is no such task");
  const comparisons = await evaluateScripted([{ ...task, steps: [] }]);
  expect(comparisons[0]?.governed).toMatchObject({ isPassed: false, requests: 1, calls: 0 });
  const [row] = evaluationTable(comparisons).rows;
  expect(row?.slice(0, 2)).toEqual(["a setting", "NO / NO"]);
  expect(row?.at(-1)).toContain("Error");
});
