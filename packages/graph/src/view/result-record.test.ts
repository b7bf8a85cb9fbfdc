import { describe, expect, it } from "vitest";
import { graphOf, statesOf } from "../../test/graphs.ts";
import { resultRecord } from "./result-record.ts";

describe("The machine record of a run", () => {
  it("is the seed's", () => {
    const graph = graphOf([
      {
        ...{ id: "inspect_code", title: "Inspect Code", description: "Find toolbar components." },
        result_policy: { store_full: false },
      },
    ]);
    const states = statesOf({ inspect_code: { result: { output: "x", summary: "Found Toolbar.vue." } } });
    expect(resultRecord({ run: "run_123", graph, status: "completed", states })).toEqual({
      ...{ type: "agent.protocol.result", version: "1", run_id: "run_123", status: "completed" },
      actions: [
        {
          ...{ id: "inspect_code", title: "Inspect Code", description: "Find toolbar components." },
          ...{ status: "completed", summary: "Found Toolbar.vue." },
        },
      ],
      next: "final_answer",
    });
  });

  it("has the reasons, the artifacts and what is needed next, and no result that logs may not hold or people not see", () => {
    const graph = graphOf([
      { id: "a" },
      { id: "b", data_visibility: ["user", "model"] },
      { id: "c", data_visibility: ["logs", "model"] },
    ]);
    const states = statesOf({
      a: { status: "failed", reason: "no", result: { output: 1, summary: "partly" } },
      b: { result: { output: 1, summary: "secret" } },
      c: { result: { output: 1, summary: "secret" } },
    });
    const record = resultRecord({ run: "r", graph, status: "blocked", waitsFor: "model", states });
    expect(record).toMatchObject({
      actions: [{ reason: "no", summary: "partly", artifacts: ["artifact://r/a"] }, { id: "b" }, { id: "c" }],
      next: "model_decision",
    });
    expect(JSON.stringify(record)).not.toContain("secret");
    expect(resultRecord({ run: "r", graph, status: "running", states }).next).toBe("running");
  });
});
