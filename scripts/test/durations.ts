import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { BaseSequencer, type JsonTestResults, type TestSpecification } from "vitest/node";
import { root } from "../root.ts";

/** Seconds by test file, as `REINS_RECORD_DURATIONS=1 npm test` measured them. Short files are not listed. */
const FILE = join(import.meta.dirname, "durations.json");
const SHORTEST_LISTED_S = 5;

/**
 * Starts the longest files first, so that workers end at about the same time. What the last run took on this machine
 * counts; without one, the recorded durations do, then the size of a file.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files);
    if (usual.every((file) => this.ctx.cache.getTestSpecificationResult(file))) return usual;
    const seconds: Record<string, number> = JSON.parse(readFileSync(FILE, "utf8"));
    const secondsOf = ({ moduleId }: TestSpecification) => seconds[relative(root, moduleId)] ?? 0;
    return usual.toSorted((one, other) => groupOf(one) - groupOf(other) || secondsOf(other) - secondsOf(one));
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder;
}

/** The files of a report that take long, with their seconds, longest first. */
export function durationsIn({ testResults }: Pick<JsonTestResults, "testResults">): Record<string, number> {
  const seconds = testResults.map(
    ({ name, startTime, endTime }) =>
      [relative(root, name), Math.round((endTime - startTime) / 1_000)] as const,
  );
  return Object.fromEntries(
    seconds.filter(([, each]) => each >= SHORTEST_LISTED_S).toSorted(([, one], [, other]) => other - one),
  );
}

/** Replaces the recorded durations. */
export function recordDurations(report: Pick<JsonTestResults, "testResults">): void {
  writeFileSync(FILE, `${JSON.stringify(durationsIn(report), null, 2)}\n`);
}
