import { table } from "../table.ts";
import { budgetOf, budgetProblem } from "./budgets.ts";
import type { StepResult } from "./step.ts";

/** A whole run in words: a table of steps, what was skipped, which budgets were missed, and the counts. */
export interface Summary {
  text: string;
  lastLine: string;
  failed: number;
}

/** Sums up a run. A missed budget is a failure of its own. */
export function summarize(steps: readonly StepResult[], budgetFor = budgetOf): Summary {
  const missed = steps
    .map((step) => budgetProblem(step, budgetFor(step.name)))
    .filter((problem) => problem !== undefined);
  const skippedTitles = steps.flatMap((step) => step.skippedTitles);
  const sections = [
    table(
      ["step", "result", "time", "budget"],
      steps.map((step) => [
        step.name,
        outcome(step),
        seconds(step.seconds),
        seconds(budgetFor(step.name), 0),
      ]),
      ["left", "left", "right", "right"],
    ),
    list("SKIPPED, not tested here:", skippedTitles),
    list("OVER BUDGET:", missed),
  ];
  const passed = total(steps, "passed");
  const failed = total(steps, "failed") + missed.length;
  const skipped = total(steps, "skipped");
  return {
    text: sections.filter((section) => section !== "").join("\n\n"),
    lastLine: `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
    failed,
  };
}

function outcome(step: StepResult): string {
  const counts = [`${step.passed} passed`];
  if (step.failed > 0) counts.push(`${step.failed} FAILED`);
  if (step.skipped > 0) counts.push(`${step.skipped} skipped`);
  return counts.join(", ");
}

function seconds(value: number | undefined, digits = 1): string {
  return value === undefined ? "-" : `${value.toFixed(digits)} s`;
}

function list(heading: string, items: readonly string[]): string {
  return items.length === 0 ? "" : [heading, ...items.map((item) => `  ${item}`)].join("\n");
}

function total(steps: readonly StepResult[], count: "passed" | "failed" | "skipped"): number {
  return steps.reduce((sum, step) => sum + step[count], 0);
}
