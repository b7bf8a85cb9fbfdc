import { expect, it } from "vitest";
import { reportFaults } from "./result-record.ts";

const SPEC = ["Findings", "Evidence"];

it.each([
  ["## Findings\n\none\n\n## Evidence\n\ntwo", []],
  ["Intro\n\n# **Findings**\n\none\n\n### more\n\nthree\n\n# `Evidence`\n\ntwo\n\n# Other\n\nfour", []],
  ["## Findings\n\none", ['the section "Evidence" is missing']],
  ["## findings\n\none\n\n## Evidence\n\ntwo", ['the section "Findings" is missing']],
  ["## Findings\n\n## Evidence\n\ntwo", ['the section "Findings" is empty']],
  ["## Findings\n\n1\n\n## Evidence\n\n2\n\n## Findings\n\n3", ['the section "Findings" stands 2 times']],
  ["## Evidence\n\n2\n\n## Findings\n\n1", ["the sections are not in the order Findings, Evidence"]],
  ["> ## Findings\n\n## Evidence\n\n2", ['the section "Findings" is missing']],
])("A final report is held to its specification: %j", (report, faults) => {
  expect(reportFaults(report, SPEC)).toEqual(faults);
});
