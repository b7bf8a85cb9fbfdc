// npm test                         everything
// npm test -- --project unit       one vitest project, or any other arguments of vitest
// npm run check                    format, lint, types and unused code, no tests
import { styleText } from "node:util";
import type { CommandResult } from "./command.ts";
import { runMain } from "./main.ts";
import { planOf } from "./test/arguments.ts";
import { runChecks } from "./test/checks.ts";
import type { StepResult } from "./test/step.ts";
import { summarize } from "./test/summary.ts";
import { runVitest } from "./test/vitest.ts";

const PROJECTS = ["unit", "system"];

await runMain(async () => {
  const plan = planOf(process.argv.slice(2));
  const steps: StepResult[] = [];
  if (plan.kind !== "tests") steps.push(...(await runChecks(showCheck)));
  // One after the other: beside unit tests on every core, a system test would mostly wait for the processor.
  if (plan.kind === "everything") {
    for (const name of PROJECTS) steps.push(await runVitest(name, ["--project", name]));
  }
  if (plan.kind === "tests") steps.push(await runVitest("tests", plan.args));

  const summary = summarize(steps);
  console.log(`\n${summary.text}\n`);
  console.log(summary.lastLine);
  process.exitCode = summary.failed > 0 ? 1 : 0;
});

function showCheck(step: StepResult, result: CommandResult): void {
  const mark = result.succeeded ? styleText("green", "✓") : styleText("red", "✗");
  console.log(`${mark} ${step.name} ${styleText("dim", `${step.seconds.toFixed(1)} s`)}`);
  if (!result.succeeded) console.log(result.output.trimEnd());
}
