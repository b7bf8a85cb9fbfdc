import { describe, expect, it } from "vitest";
import { countTests, type VitestReport } from "./vitest.ts";

type Tests = VitestReport["testResults"][number]["assertionResults"];

const file = (status: "passed" | "failed", assertionResults: Tests) => ({
  name: "a.test.ts",
  status,
  assertionResults,
});
const test = (status: Tests[number]["status"], ...ancestorTitles: string[]) => ({
  status,
  ancestorTitles,
  fullName: [...ancestorTitles, "does it"].join(" "),
});

describe("countTests", () => {
  it("counts what passed, failed and was skipped", () => {
    const report = {
      numPassedTests: 1,
      numFailedTests: 1,
      testResults: [
        file("failed", [
          test("passed"),
          test("failed"),
          test("skipped", "the page (needs a browser)"),
          test("pending", "the page (needs a browser)"),
          test("todo"),
        ]),
      ],
    };
    expect(countTests(report, false)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 3,
      skippedTitles: ["the page (needs a browser)", "does it"],
    });
  });

  it("counts a file that could not be loaded", () => {
    const report = {
      numPassedTests: 1,
      numFailedTests: 0,
      testResults: [file("passed", [test("passed")]), file("failed", [])],
    };
    expect(countTests(report, false)).toMatchObject({ passed: 1, failed: 1 });
  });

  it("counts a run that failed for no test's fault, or left no report", () => {
    const report = { numPassedTests: 1, numFailedTests: 0, testResults: [file("passed", [test("passed")])] };
    expect(countTests(report, false)).toMatchObject({ passed: 1, failed: 1 });
    expect(countTests(undefined, false)).toMatchObject({ passed: 0, failed: 1 });
  });
});
