import { expect, test } from "vitest";
import { ADDING } from "../bench/tasks/adding.ts";
import { CHANGING } from "../bench/tasks/changing.ts";
import { evaluateScripted, evaluationTable } from "../bench/tasks/evaluation.ts";
import { FIXING } from "../bench/tasks/fixing.ts";

const ALL = [...FIXING, ...ADDING, ...CHANGING];
const named = (...names: readonly string[]) => ALL.filter(({ name }) => names.includes(name));

test("there are thirty tasks, each with a name of its own", () => {
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(30);
});

test("the governed agent does its tasks with the requests and calls of one that nothing governs", async () => {
  const tasks = named(
    "three broken modules",
    "far down in a long file",
    "an edit that does not fit",
    "a file that nothing needs",
    "a file that holds a key",
  );
  const comparisons = await evaluateScripted(tasks);
  for (const { task, governed, bare } of comparisons) {
    expect(governed.fault, task.name).toBeUndefined();
    expect(bare.fault, task.name).toBeUndefined();
    expect([task.name, governed.requests, governed.calls]).toEqual([task.name, bare.requests, bare.calls]);
    expect(governed.cost).toBeGreaterThan(0);
  }
  expect(comparisons.map(({ task, governed: { asks } }) => [task.name, asks])).toEqual([
    ["three broken modules", 2],
    ["far down in a long file", 0],
    ["an edit that does not fit", 1],
    ["a file that nothing needs", 1],
    ["a file that holds a key", 0],
  ]);
});

test("work that was not done is not passed, and the table says what is wrong", async () => {
  const [task] = named("a setting");
  if (!task) throw new Error("there is no such task");
  const comparisons = await evaluateScripted([{ ...task, steps: [] }]);
  expect(comparisons[0]?.governed).toMatchObject({ isPassed: false, requests: 1, calls: 0 });
  const [row] = evaluationTable(comparisons).rows;
  expect(row?.slice(0, 2)).toEqual(["a setting", "NO / NO"]);
  expect(row?.at(-1)).toContain("Error");
});
