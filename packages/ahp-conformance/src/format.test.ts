import { expect, test } from "vitest";
import { formatReport } from "./format.ts";
import { type CheckReport, type ConformanceReport, countChecks } from "./report.ts";

const sent = { direction: "sent", text: '{"id":"1"}' } as const;
const checks: CheckReport[] = [
  { id: "good", title: "what is right", level: "must", outcome: "holds", exchange: [sent] },
  {
    id: "bad",
    title: "what is wrong",
    level: "must",
    outcome: "fails",
    why: "it was\nnot",
    exchange: [sent, { direction: "received", text: "\u001b[2Jno", status: 200 }],
  },
  {
    id: "nice",
    title: "what is nice",
    level: "improved",
    outcome: "fails",
    why: "silence",
    exchange: [sent],
  },
  { id: "moot", title: "what is moot", level: "should", outcome: "skipped", why: "no limit", exchange: [] },
];
const sections = [{ section: "Depth", reference: "Depth And Recursion", checks }];
const report: ConformanceReport = {
  target: "ahp.sock",
  transport: "unix",
  sections,
  totals: countChecks(sections),
  conforms: false,
};

test("says what holds and what does not, with the exchange that shows it", () => {
  expect(formatReport(report)).toBe(`a harness that did not introduce itself, over unix: ahp.sock

Depth (Depth And Recursion)
  ✓ what is right
  ✗ fails: what is wrong [bad]
      it was\\u000anot
      → {"id":"1"}
      ← 200 \\u001b[2Jno
  · does not: what is nice [nice]
      silence
      → {"id":"1"}
  - what is moot (skipped: no limit)

must     1 of 2 hold
should   0 of 0 hold, 1 skipped
improved 0 of 1 hold

This harness does not conform to AHP 2.4: 1 of what it must do fails.
`);
});

test("shows every exchange when asked to, and color only then", () => {
  expect(formatReport(report, { verbose: true })).toContain('✓ what is right\n      → {"id":"1"}\n');
  expect(formatReport(report)).not.toContain("\u001b");
  expect(formatReport(report, { color: true })).toContain("\u001b[31m✗ fails:\u001b[39m");
});

test("counts by level and outcome", () => {
  expect(report.totals).toEqual({
    must: { holds: 1, fails: 1, skipped: 0 },
    should: { holds: 0, fails: 0, skipped: 1 },
    improved: { holds: 0, fails: 1, skipped: 0 },
  });
});
