import { describe, expect, it } from "vitest";
import budgets from "../../test-budgets.json" with { type: "json" };
import { budgetOf, budgetProblem, deadlineOf } from "./budgets.ts";

describe("budgets", () => {
  it("are those of test-budgets.json, and a step hangs when it takes twice as long", () => {
    expect(budgetOf("unit")).toBe(budgets.unit);
    expect(deadlineOf("unit")).toBe(budgets.unit * 2);
  });

  it("bind no step that has none", () => {
    expect(budgetOf("tests")).toBeUndefined();
    expect(deadlineOf("tests")).toBeUndefined();
    expect(budgetProblem({ name: "tests", seconds: 10_000 })).toBeUndefined();
  });

  it("are kept to the end and missed after it", () => {
    expect(budgetProblem({ name: "unit", seconds: 60 }, 60)).toBeUndefined();
    expect(budgetProblem({ name: "unit", seconds: 60.5 }, 60)).toContain(
      "unit took 60.5 s; its budget is 60 s",
    );
  });
});
