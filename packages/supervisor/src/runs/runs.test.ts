import { RunStatus } from "@reins/ahp";
import { describe, expect, test } from "vitest";
import { lifecycleFault, taskListFault, verificationFault } from "./runs.ts";

const run = (status: RunStatus, updated_at = "2026-01-01T00:00:00Z", session_id = "s") => ({
  run_id: "r",
  session_id,
  status,
  updated_at,
});

describe("a run", () => {
  test.each<[RunStatus, RunStatus]>([
    ["created", "planning"],
    ["created", "executing"],
    ["planning", "executing"],
    ["executing", "verifying"],
    ["verifying", "executing"],
    ["verifying", "completed"],
    ["executing", "cancelled"],
    ["executing", "executing"],
  ])("that is %s may become %s", (before, now) => {
    expect(lifecycleFault(run(before), run(now))).toBeUndefined();
  });

  test.each<[RunStatus, RunStatus]>([
    ["completed", "executing"],
    ["failed", "completed"],
    ["cancelled", "created"],
    ["created", "completed"],
    ["created", "verifying"],
    ["planning", "created"],
  ])("that is %s does not become %s", (before, now) => {
    expect(lifecycleFault(run(before), run(now))).toBe(`a run that is ${before} does not become ${now}`);
  });

  test("may first be reported with any status, stays in its session, and does not go back in time", () => {
    expect(lifecycleFault(undefined, run("created"))).toBeUndefined();
    for (const status of RunStatus.options) expect(lifecycleFault(undefined, run(status))).toBeUndefined();
    expect(lifecycleFault(run("created"), run("executing", undefined, "other"))).toContain("another session");
    expect(lifecycleFault(run("created"), run("executing", "2025-12-31T00:00:00Z"))).toContain("older");
  });
});

const task = (id: string, depends_on: string[] = []) => ({
  id,
  title: id,
  status: "pending" as const,
  depends_on,
  evidence: [],
  artifacts: [],
});
const tasks = (...list: ReturnType<typeof task>[]) => ({
  run_id: "r",
  session_id: "s",
  tasks: list,
  updated_at: "2026-01-01T00:00:00Z",
});

test("tasks have ids of their own and depend on what is there, without circles", () => {
  expect(taskListFault(undefined, tasks(task("a"), task("b", ["a"]), task("c", ["a", "b"])))).toBeUndefined();
  expect(taskListFault(undefined, tasks(task("a"), task("a")))).toBe("two tasks have the same id");
  expect(taskListFault(undefined, tasks(task("a", ["z"])))).toBe("task a depends on z, which is not there");
  expect(taskListFault(undefined, tasks(task("a", ["b"]), task("b", ["a"])))).toContain("circle");
  expect(taskListFault({ ...tasks(), updated_at: "2027-01-01T00:00:00Z" }, tasks())).toContain("older");
});

test("a list may be as long as one that depends on the next, all the way down", () => {
  const many = Array.from({ length: 20_000 }, (_, index) =>
    task(`t${index}`, index < 19_999 ? [`t${index + 1}`] : []),
  );
  expect(taskListFault(undefined, tasks(...many))).toBeUndefined();
  const circle = [...many.slice(0, -1), task("t19999", ["t0"])];
  expect(taskListFault(undefined, tasks(...circle))).toContain("circle");
  expect(taskListFault(undefined, tasks(task("a", ["a"])))).toContain("circle");
  expect(taskListFault(undefined, tasks(task("a"), task("b", ["a", "a"])))).toBeUndefined();
});

test("checks have ids of their own", () => {
  const check = { id: "c", subject: "s", status: "passed" as const, evidence: [], artifacts: [] };
  const verification = {
    run_id: "r",
    session_id: "s",
    status: "passed" as const,
    residual_risks: [],
    updated_at: "t",
  };
  expect(verificationFault(undefined, { ...verification, checks: [check] })).toBeUndefined();
  expect(verificationFault(undefined, { ...verification, checks: [check, check] })).toBe(
    "two checks have the same id",
  );
});
