import { describe, expect, it } from "vitest";
import { type Assignment, assignmentText, Handoff } from "./assignment.ts";

const assignment: Assignment = {
  ...{ run: "r", action: "b", executor: "reviewer", context: ["Background."], task: "Review it." },
  authority: { principal: "ann", tools: ["read"], writes: [], budget: { tokens: 100 } },
  ...{ artifacts: [], trace: [] },
};

describe("An assignment", () => {
  it("is put to its agent with context, limits and input before the task", () => {
    expect(
      assignmentText({ ...assignment, input: { depth: 1 } }),
    ).toBe(`<node-request run_id="r" action_id="b">
  <context>
    Background.
    You may use these tools only: read.
    You may write: nothing.
    You have at most 100 tokens.
    Input:
    {
      "depth": 1
    }
  </context>
  <task>
    Review it.
  </task>
</node-request>`);
  });

  it("continues another one by its handoff", () => {
    const handoff = Handoff.parse({
      from: { run: "r", action: "a" },
      result_summary: "Half of it is done.",
      evidence: ["a.ts:4"],
      artifact_refs: ["artifact://r/a"],
      risks: ["untested"],
      unresolved_issues: ["the other half"],
      next_goal: "Do the other half.",
      constraints: ["no new dependency"],
      dependencies: ["a"],
    });
    const text = assignmentText({ ...assignment, handoff });
    for (const part of ["Half of it", "- a.ts:4", "- artifact://r/a", "- untested", "- the other half"])
      expect(text).toContain(part);
    for (const part of ["Next goal: Do the other half.", "- no new dependency", "Dependencies:\n    - a"])
      expect(text).toContain(part);
  });
});
