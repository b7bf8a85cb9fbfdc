import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonTestResults } from "vitest/node";
import { runCommand } from "../command.ts";
import { deadlineOf } from "./budgets.ts";
import { recordDurations } from "./durations.ts";
import type { StepResult } from "./step.ts";

/** Runs vitest with its own live output; its machine-readable report gives the counts. */
export async function runVitest(name: string, args: readonly string[]): Promise<StepResult> {
  const folder = await mkdtemp(join(tmpdir(), "reins-test-"));
  try {
    const report = join(folder, "report.json");
    const reporters = args.some((arg) => arg.startsWith("--reporter")) ? [] : ["--reporter=default"];
    const line = ["node_modules/vitest/vitest.mjs", "run", ...args, ...reporters];
    const { succeeded, seconds, output } = await runCommand(
      [...line, "--reporter=json", `--outputFile.json=${report}`],
      {
        live: true,
        deadline: deadlineOf(name),
      },
    );
    if (output !== "") console.log(output.trim());
    const results = await readReport(report);
    if (name === "system" && results && process.env.REINS_RECORD_DURATIONS) recordDurations(results);
    return { name, seconds, ...countTests(results, succeeded) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The parts of vitest's report that are counted. */
export type VitestReport = Pick<JsonTestResults, "numPassedTests" | "numFailedTests"> & {
  testResults: (Pick<JsonTestResults["testResults"][number], "name" | "status"> & {
    assertionResults: Pick<
      JsonTestResults["testResults"][number]["assertionResults"][number],
      "status" | "fullName" | "ancestorTitles"
    >[];
  })[];
};

/**
 * Counts tests. A file that could not be loaded counts as one failure, and so does a run that failed without any
 * failed test: an unhandled error, no tests found, no report.
 */
export function countTests(
  report: VitestReport | undefined,
  succeeded: boolean,
): Pick<StepResult, "passed" | "failed" | "skipped" | "skippedTitles"> {
  const files = report?.testResults ?? [];
  const broken = files.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  );
  const skipped = files
    .flatMap((file) => file.assertionResults)
    .filter((test) => !["passed", "failed"].includes(test.status));
  const failed = (report?.numFailedTests ?? 0) + broken.length;
  return {
    passed: report?.numPassedTests ?? 0,
    failed: failed === 0 && !succeeded ? 1 : failed,
    skipped: skipped.length,
    skippedTitles: [...new Set(skipped.map((test) => test.ancestorTitles.join(" > ") || test.fullName))],
  };
}

async function readReport(path: string): Promise<JsonTestResults | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    // vitest died before it could write one; countTests takes that as a failure.
    return undefined;
  }
}
