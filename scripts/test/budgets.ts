import budgets from "../../test-budgets.json" with { type: "json" };
import type { StepResult } from "./step.ts";

const limits = new Map<string, number>(Object.entries(budgets));

/** The seconds a step may take, or undefined for one without a budget, such as a filtered run. */
export function budgetOf(name: string): number | undefined {
  return limits.get(name);
}

/** The seconds after which a step is hanging rather than slow, and is killed. */
export function deadlineOf(name: string): number | undefined {
  const budget = budgetOf(name);
  return budget === undefined ? undefined : budget * 2;
}

/** Says by how much a step missed its budget, or undefined when it kept it. */
export function budgetProblem(
  step: Pick<StepResult, "name" | "seconds">,
  budget = budgetOf(step.name),
): string | undefined {
  if (budget === undefined || step.seconds <= budget) return undefined;
  return (
    `${step.name} took ${step.seconds.toFixed(1)} s; its budget is ${budget} s. ` +
    "Make it faster, or raise the budget in test-budgets.json and say why in the commit."
  );
}
