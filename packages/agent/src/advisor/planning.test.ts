import { describe, expect, it } from "vitest";
import type { DecisionEvents, PlanningStrategy } from "../control/events.ts";
import { choosePlanning, hintsFor } from "./advisor.ts";

const ALL: readonly PlanningStrategy[] = ["none", "step_by_step", "tree_of_thoughts", "graph_planning"];

function plan(task_description: string, more: Partial<DecisionEvents["planning"]["payload"]> = {}) {
  return choosePlanning({ session_id: "s", task_description, available_strategies: ALL, ...more });
}

describe("the planning of a task", () => {
  it.each([
    ["what is in this folder", "none"],
    ["hello", "none"],
    ["fix the failing build", "step_by_step"],
    ["implement a login page", "step_by_step"],
    ["should we use A or B? weigh the options", "tree_of_thoughts"],
    ["Please:\n- write a\n- write b\n- write c\n- write d", "graph_planning"],
  ] as const)("%s: %s", (task, selected_strategy) => {
    expect(plan(task)).toMatchObject({ decision: "allow", selected_strategy });
  });

  it("uses the list in the task as steps", () => {
    expect(plan("do this:\n1. read the file\n2) change it")).toEqual({
      decision: "allow",
      selected_strategy: "step_by_step",
      planning_template: ["read the file", "change it"],
    });
  });

  it("is skipped when few requests are left", () => {
    expect(plan("fix the bug", { constraints: { max_requests: 2 } })).toMatchObject({
      selected_strategy: "none",
    });
  });

  it("chooses among the available strategies only", () => {
    const only = (...available_strategies: PlanningStrategy[]) => ({ available_strategies });
    expect(plan("weigh the options", only("none", "step_by_step"))).toMatchObject({
      selected_strategy: "step_by_step",
    });
    expect(plan("weigh the options", only("none"))).toMatchObject({ selected_strategy: "none" });
    expect(plan("weigh the options", only())).toMatchObject({ selected_strategy: "none" });
  });
});

const CONSTITUTION = `# Constitution

Some words before.

1. **People decide.** An agent acts on behalf of a person.
2. **Secrets stay secret.** Keys, tokens and passwords are not for
   agents.
3. **Nothing is destroyed quietly.** What is deleted needs a person's word.

Some words after, about passwords.
`;

const hints = (problem_statement: string, constitution = CONSTITUTION) => {
  const decision = hintsFor(problem_statement, constitution);
  return decision.decision === "allow" ? (decision.hints ?? []) : [];
};

describe("hints", () => {
  it("contain advice for the kind of work", () => {
    expect(hints("fix the crash").join()).toContain("Find the cause");
    expect(hints("delete the old logs").join()).toContain("Look at what is there first");
  });

  it("quote the principles of the constitution that share words with the problem", () => {
    expect(hints("where are the passwords?")).toContain(
      "Secrets stay secret. Keys, tokens and passwords are not for agents.",
    );
    expect(hints("which files were deleted?").join()).toContain("Nothing is destroyed quietly.");
  });

  it("are absent when there are none", () => {
    expect(hintsFor("zzz", "")).toEqual({
      decision: "allow",
    });
  });
});
