import type { RunGraph } from "@reins/api";
import { describe, expect, test } from "vitest";
import { anAction, aRunGraph } from "../../../../test/run-graphs.ts";
import {
  canCancel,
  canDecide,
  inRunOrder,
  outcomeText,
  pendingDependents,
  progressText,
  repetitionText,
  timeTaken,
} from "./actions.ts";

describe("the order of actions", () => {
  const ids = (actions: Parameters<typeof inRunOrder>[0]) => inRunOrder(actions).map(({ id }) => id);

  test("puts each after its dependencies, otherwise as declared", () => {
    expect(
      ids([anAction("c", { depends_on: ["b", "a"] }), anAction("a"), anAction("b", { depends_on: ["a"] })]),
    ).toEqual(["a", "b", "c"]);
    expect(ids([anAction("b"), anAction("a")])).toEqual(["b", "a"]);
  });

  test("has every action once, also with a cycle or an unknown dependency", () => {
    const cycle = [anAction("a", { depends_on: ["b", "nowhere"] }), anAction("b", { depends_on: ["a"] })];
    expect(ids(cycle).toSorted()).toEqual(["a", "b"]);
  });

  test("survives a long chain", () => {
    const chain = Array.from({ length: 20_000 }, (_, index) =>
      anAction(`a${index}`, { depends_on: [`a${index + 1}`] }),
    );
    expect(ids(chain)).toHaveLength(20_000);
    expect(ids(chain).at(-1)).toBe("a0");
  });
});

test("pending dependents are direct and indirect ones that have not begun", () => {
  const actions = [
    anAction("a"),
    anAction("b", { depends_on: ["a"], status: "completed" }),
    anAction("c", { depends_on: ["b"] }),
    anAction("d"),
  ];
  expect(pendingDependents(actions, "a").map(({ id }) => id)).toEqual(["c"]);
});

describe("a run", () => {
  const run = (status: RunGraph["status"], more: Partial<RunGraph> = {}) =>
    aRunGraph([], { status, ...more });

  test.each([
    ["running", true],
    ["waiting", true],
    ["blocked", true],
    ["completed", false],
    ["failed", false],
    ["canceled", false],
  ] as const)("that is %s can be canceled: %s", (status, expected) => {
    expect(canCancel(run(status))).toBe(expected);
  });

  test("that is blocked and over cannot be canceled", () => {
    expect(canCancel(run("blocked", { ended_at: "2026-01-01T00:00:00.000Z" }))).toBe(false);
  });

  test("that is only a plan can neither be canceled nor decided", () => {
    expect(canCancel(run("pending", { plan: true }))).toBe(false);
    expect(canDecide(run("blocked", { plan: true }), anAction("a", { status: "failed" }))).toBe(false);
  });

  test.each([
    ["pending", true],
    ["waiting", true],
    ["running", true],
    ["completed", false],
    ["blocked", false],
  ] as const)("lets an action that is %s be canceled: %s", (status, expected) => {
    expect(canCancel(run("running"), anAction("a", { status }))).toBe(expected);
    expect(canCancel(run("completed"), anAction("a", { status }))).toBe(false);
  });

  test.each([
    ["blocked", "failed", "model", true],
    ["failed", "failed", undefined, true],
    ["blocked", "blocked", "model", true],
    ["blocked", "completed", "model", false],
    ["running", "failed", undefined, false],
    ["blocked", "blocked", "permission", false],
    ["blocked", "blocked", "input", false],
  ] as const)(
    "that is %s lets an action that is %s be decided while it waits for %s: %s",
    (status, action, waits_for, expected) => {
      const graph = run(status, waits_for === undefined ? {} : { waits_for });
      expect(canDecide(graph, anAction("a", { status: action }))).toBe(expected);
    },
  );
});

describe("what happened", () => {
  const before = aRunGraph([anAction("a", { status: "running" }), anAction("b"), anAction("c")]);

  test("names the new status of the run and counts the changed actions", () => {
    const after = aRunGraph(
      [
        anAction("a", { status: "canceled" }),
        anAction("b", { status: "canceled" }),
        anAction("c", { status: "running" }),
      ],
      { status: "canceled" },
    );
    expect(outcomeText(before, after)).toBe(
      "The run became canceled; 2 actions became canceled; 1 action became running.",
    );
  });

  test("says so if nothing changed yet", () => {
    expect(outcomeText(before, before)).toBe("The run stayed running.");
  });
});

test("progress counts what ended and what is under way", () => {
  expect(progressText(aRunGraph([anAction("a"), anAction("b", { status: "completed" })]))).toBe(
    "1 of 2 actions ended",
  );
  expect(progressText(aRunGraph([anAction("a", { status: "running" })]))).toBe(
    "0 of 1 action ended, 1 under way",
  );
});

test("the time taken is exact after the end and counts before it", () => {
  const started_at = "2026-01-01T00:00:00.000Z";
  expect(timeTaken({}, 0)).toBe(undefined);
  expect(timeTaken({ started_at, ended_at: "2026-01-01T00:00:00.250Z" }, 0)).toBe("250 ms");
  expect(timeTaken({ started_at }, Date.parse("2026-01-01T00:02:05.000Z"))).toBe("2 min");
  expect(timeTaken({ started_at }, 0)).toBe("0 s");
});

test("repetitions are named from the second on", () => {
  expect(repetitionText(anAction("a", { attempts: 1, iterations: 1 }))).toBe("");
  expect(repetitionText(anAction("a", { attempts: 2, iterations: 3 }))).toBe("attempt 2, round 3");
});
