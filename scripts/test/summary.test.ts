import { describe, expect, it } from "vitest";
import type { StepResult } from "./step.ts";
import { summarize } from "./summary.ts";

const step = (name: string, changes: Partial<StepResult>): StepResult => ({
  name,
  seconds: 1.25,
  passed: 0,
  failed: 0,
  skipped: 0,
  skippedTitles: [],
  ...changes,
});
const budgets = (name: string) => (name === "unit" ? 60 : undefined);

describe("summarize", () => {
  it("adds up checks and tests in a table and one last line", () => {
    const summary = summarize(
      [step("types", { passed: 1 }), step("unit", { passed: 41, seconds: 3 })],
      budgets,
    );
    expect(summary.lastLine).toBe("42 passed, 0 failed");
    expect(summary.failed).toBe(0);
    expect(summary.text).toBe(
      [
        "step   result      time  budget",
        "-----  ---------  -----  ------",
        "types  1 passed   1.3 s       -",
        "unit   41 passed  3.0 s    60 s",
      ].join("\n"),
    );
  });

  it("names what was skipped, and counts it only then", () => {
    const summary = summarize([
      step("system", { passed: 3, skipped: 2, skippedTitles: ["the page (needs a browser)"] }),
    ]);
    expect(summary.lastLine).toBe("3 passed, 0 failed, 2 skipped");
    expect(summary.text).toContain("SKIPPED, not tested here:\n  the page (needs a browser)");
  });

  it("counts a missed budget as a failure and gives the figures", () => {
    const summary = summarize([step("unit", { passed: 5, seconds: 61.23 })], budgets);
    expect(summary.lastLine).toBe("5 passed, 1 failed");
    expect(summary.text).toContain("OVER BUDGET:\n  unit took 61.2 s; its budget is 60 s.");
  });
});
