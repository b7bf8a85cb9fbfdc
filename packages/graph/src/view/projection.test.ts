import { describe, expect, it } from "vitest";
import { graphOf, statesOf } from "../../test/graphs.ts";
import { projectRun, type RunRecord } from "./projection.ts";

const graph = graphOf(
  [
    {
      ...{ id: "a", title: "Inspect", description: "Finds it.", reason: "Needed.", operation: "search" },
      executor: { type: "tool", capabilities: ["search"] },
      ui_projection: { label: "Looking" },
    },
    { id: "b", depends_on: ["a"], data_visibility: ["model"], ui_projection: { visible: false } },
    { id: "c", depends_on: ["b"], input: { x: 1 } },
  ],
  { title: "Review", persist: true },
);

const record: RunRecord = {
  ...{ run: "r", session: "s", graph, status: "running", carrier: "fenced", declaration: "{}" },
  startedAt: "2026-01-01T00:00:00.000Z",
  states: statesOf({
    a: { result: { output: "long", summary: "short" } },
    b: { status: "running", result: { output: "secret", summary: "secret" } },
    c: { status: "pending", attempts: 0, iterations: 0 },
  }),
  records: new Map([["a", { executor: { type: "tool", name: "grep" }, verdict: "cid", input: { q: "x" } }]]),
};

describe("The projection of a run", () => {
  it("shows titles, descriptions, statuses, progress and summaries", () => {
    expect(projectRun(record)).toMatchObject({
      ...{ run_id: "r", session_id: "s", title: "Review", status: "running", plan: false, durable: true },
      progress: { total: 3, ended: 1, running: 1 },
      actions: [
        {
          ...{ id: "a", title: "Looking", description: "Finds it.", status: "completed", verdict: "cid" },
          executor: { type: "tool", target: "grep", capabilities: ["search"] },
          ...{ result_summary: "short", details_ref: "runtime://runs/r/actions/a/output", input: { q: "x" } },
        },
        { id: "b", visible: false, depends_on: ["a"], status: "running" },
        { id: "c", executor: { target: "auto" }, input: { x: 1 }, status: "pending", attempts: 0 },
      ],
      violations: [],
    });
  });

  it("shows people no result that they may not see", () => {
    for (const more of [{}, { status: "waiting", waitsFor: "input" }, { status: "completed" }] as const)
      expect(JSON.stringify(projectRun({ ...record, ...more }))).not.toContain("secret");
  });

  it("sums a run up once it is over, with what failed", () => {
    expect(projectRun(record)).not.toHaveProperty("result_summary");
    expect(projectRun(record)).not.toHaveProperty("result");
    const states = statesOf({ a: {}, b: { status: "failed", reason: "no disk" }, c: { status: "canceled" } });
    const { result_summary, result } = projectRun({ ...record, status: "failed", states, endedAt: "later" });
    expect(result).toMatchObject({
      ...{ type: "agent.protocol.result", run_id: "r", status: "failed", next: "final_answer" },
      actions: [{ id: "a" }, { id: "b", status: "failed", reason: "no disk" }, { id: "c" }],
    });
    expect(result_summary).toBe("The run is failed: 1 completed, 1 failed, 1 canceled.\nb: no disk");
  });
});
