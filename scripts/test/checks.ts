import { type CommandResult, runCommand } from "../command.ts";
import { deadlineOf } from "./budgets.ts";
import type { StepResult } from "./step.ts";

/** A program that passes or fails as a whole. */
interface Check {
  name: string;
  line: readonly string[];
}

const CHECKS: readonly Check[] = [
  { name: "format and lint", line: ["node_modules/@biomejs/biome/bin/biome", "ci", "--colors=off"] },
  { name: "types", line: ["node_modules/typescript/bin/tsc", "--noEmit"] },
  { name: "types of the page", line: ["node_modules/typescript/bin/tsc", "-p", "packages/inspector"] },
  { name: "unused code", line: ["node_modules/knip/bin/knip.js", "--no-progress"] },
];

/** Runs the checks side by side and reports each as it ends. */
export function runChecks(onEnd: (step: StepResult, result: CommandResult) => void): Promise<StepResult[]> {
  return Promise.all(
    CHECKS.map(async ({ name, line }) => {
      const result = await runCommand(line, { deadline: deadlineOf(name) });
      const [passed, failed] = result.succeeded ? [1, 0] : [0, 1];
      const step = { name, seconds: result.seconds, passed, failed, skipped: 0, skippedTitles: [] };
      onEnd(step, result);
      return step;
    }),
  );
}
