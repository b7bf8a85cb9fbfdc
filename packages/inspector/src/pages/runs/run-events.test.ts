import type { Run } from "@reins/api";
import { afterEach, describe, expect, test, vi } from "vitest";
import { fetchRunEvents, type RunEvent, runState, transitions } from "./run-events.ts";

const base = { run_id: "run-1", session_id: "s", updated_at: "2026-01-01T00:00:00Z" };
let seq = 0;
const event = (contract: RunEvent["contract"], payload: object, fault: string | null = null): RunEvent => {
  seq += 1;
  const at = `2026-01-01T00:00:${String(seq).padStart(2, "0")}Z`;
  return { seq, run_id: "run-1", session_id: "s", contract, at, payload: { ...base, ...payload }, fault };
};
const task = (id: string, status: string) => ({ id, title: `Task ${id}`, status });

describe("the state of a run", () => {
  test("is read from the newest contracts", () => {
    const run: Run = {
      ...base,
      run_lifecycle: { ...base, status: "completed", prompt: "count frogs" },
      task_list: { ...base, tasks: [task("a", "completed")] },
      verification: { ...base, status: "passed" },
    };
    expect(runState(run)).toMatchObject({
      name: "count frogs",
      lifecycle: { status: "completed" },
      tasks: [{ title: "Task a" }],
      verification: { status: "passed", checks: [], residual_risks: [] },
    });
  });

  test("names a run without a prompt by its result, then by its id", () => {
    const lifecycle = { ...base, status: "created", prompt: "" };
    expect(runState({ ...base, run_lifecycle: { ...lifecycle, result_summary: "3 frogs" } }).name).toBe(
      "3 frogs",
    );
    expect(runState({ ...base, run_lifecycle: lifecycle }).name).toBe("Run run-1");
  });

  test("leaves out a contract that does not parse", () => {
    const run: Run = { ...base, run_lifecycle: base, task_list: { ...base, tasks: "none" } };
    expect(runState(run)).toMatchObject({ lifecycle: undefined, tasks: [], verification: undefined });
  });
});

describe("the transitions of a run", () => {
  test("name the status before and after", () => {
    const lines = transitions([
      event("run_lifecycle", { status: "created", prompt: "count frogs" }),
      event("run_lifecycle", { status: "executing", prompt: "count frogs" }),
      event("run_lifecycle", { status: "failed", error: "no frogs" }),
    ]);
    expect(lines.map(({ status, changes }) => [status, changes])).toEqual([
      ["created", ["count frogs"]],
      ["executing", ["created → executing"]],
      ["failed", ["executing → failed", "no frogs"]],
    ]);
  });

  test("keep a rejected event with its reason, and do not build on it", () => {
    const lines = transitions([
      event("run_lifecycle", { status: "completed" }),
      event("run_lifecycle", { status: "executing" }, "a run that is completed does not become executing"),
      event("run_lifecycle", { status: "failed" }),
    ]);
    expect(lines[1]).toMatchObject({
      status: "executing",
      changes: [],
      fault: "a run that is completed does not become executing",
    });
    expect(lines[2]?.changes).toEqual(["completed → failed"]);
  });

  test("list added, changed and removed tasks only", () => {
    const lines = transitions([
      event("task_list", { tasks: [task("a", "pending"), task("b", "pending")] }),
      event("task_list", { tasks: [task("a", "in_progress"), task("b", "pending")] }),
      event("task_list", { tasks: [task("a", "completed")] }, "tasks must not disappear"),
      event("task_list", { tasks: [task("a", "in_progress"), task("c", "skipped")] }),
      event("task_list", { tasks: [task("a", "in_progress"), task("c", "skipped")] }),
    ]);
    expect(lines.map(({ changes }) => changes)).toEqual([
      ["added Task a (pending)", "added Task b (pending)"],
      ["Task a: pending → in progress"],
      ["Task a: in progress → completed", "removed Task b"],
      ["added Task c (skipped)", "removed Task b"],
      [],
    ]);
  });

  test("list the checks and residual risks of a verification", () => {
    const [line] = transitions([
      event("verification", {
        status: "needs_review",
        checks: [
          { subject: "tests", status: "passed" },
          { subject: "lint", status: "failed", message: "2 errors" },
        ],
        residual_risks: ["untested on Windows"],
      }),
    ]);
    expect(line).toMatchObject({
      status: "needs_review",
      changes: ["tests: passed", "lint: failed (2 errors)", "residual risk: untested on Windows"],
    });
  });

  test("survive a payload of another shape", () => {
    const lines = transitions([
      event("run_lifecycle", { status: 7 }),
      event("task_list", { tasks: null }),
      event("verification", {}),
    ]);
    expect(lines.map(({ status, changes }) => [status, changes])).toEqual([
      [undefined, []],
      [undefined, []],
      [undefined, []],
    ]);
  });
});

describe("the events of a run", () => {
  afterEach(() => vi.unstubAllGlobals());

  test("are fetched page by page until there is no next page", async () => {
    const asked: string[] = [];
    const pages = [
      { events: [event("run_lifecycle", { status: "created" })], next: 7 },
      { events: [event("run_lifecycle", { status: "executing" })] },
    ];
    vi.stubGlobal("fetch", async (address: string) => {
      asked.push(address.replace("http://localhost", ""));
      return Response.json(pages[asked.length - 1]);
    });
    const events = await fetchRunEvents("run 1", new AbortController().signal);
    expect(events.map(({ payload }) => payload.status)).toEqual(["created", "executing"]);
    expect(asked).toEqual(["/v1/runs/run%201/events?limit=500", "/v1/runs/run%201/events?limit=500&after=7"]);
  });
});
