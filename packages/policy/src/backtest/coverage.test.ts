import { describe, expect, it } from "vitest";
import { type Deed, payloadsUnder, policyOf } from "../../test/recorded.ts";
import { Coverage, type CoverageReport } from "./backtest.ts";

function coverage(rules: string, deeds: readonly Deed[]): CoverageReport {
  const found = new Coverage(policyOf(rules));
  const made = policyOf("tool_rules: [{ name: all, condition: {}, verdict: allowed }]");
  for (const [index, payload] of payloadsUnder(made, deeds).entries()) found.add(`cid-${index}`, payload);
  return found.report();
}

const RULES = `
tool_rules:
  - { name: read, condition: { tool_name_matches: [read] }, verdict: allowed }
  - { name: never, condition: { tool_name_matches: [rm] }, verdict: blocked }
  - { name: write, condition: { tool_name_matches: [write], user: ann }, verdict: ask }
`;

describe("coverage", () => {
  const deeds = [
    { tool: "read" },
    { tool: "write" },
    { tool: "fetch" },
    { tool: "fetch" },
    { tool: "dance" },
  ];

  it("finds the actions that no rule matches", () => {
    expect(coverage(RULES, deeds)).toMatchObject({
      total: 5,
      named: 2,
      taken_by_all: 0,
      unmatched: 3,
      unnamed: [
        {
          verdict: "blocked",
          rule: null,
          tool: "fetch",
          agent: "coder",
          count: 2,
          examples: [{ entry: "cid-2", what: "fetch" }],
        },
        { verdict: "blocked", rule: null, tool: "dance", count: 1 },
      ],
    });
  });

  it("finds those that only a rule for everything takes", () => {
    const rules = `${RULES}  - { name: rest, condition: {}, verdict: ask }`;
    expect(coverage(rules, deeds)).toMatchObject({
      named: 2,
      taken_by_all: 3,
      unmatched: 0,
      unnamed: [{ verdict: "ask", rule: "rest", tool: "fetch" }, { tool: "dance" }],
      rules: [
        { rule: "read", matches: 1, takes_all: false },
        { rule: "never", matches: 0 },
        { rule: "write", matches: 1 },
        { rule: "rest", matches: 3, takes_all: true },
      ],
    });
  });

  it("finds rules that nothing was about, and apart from them those that nothing could be about", () => {
    const rules = RULES.replace(
      "tool_rules:",
      "tool_rules:\n  - { name: gone, condition: { tool_name_matches: [gone] }, verdict: ask }\n  - { name: all, condition: {}, verdict: allowed }",
    );
    const { never_matched, unreachable } = coverage(rules, deeds);
    expect(never_matched).toEqual(["gone"]);
    expect(unreachable).toEqual([
      { rule: "read", because: "all" },
      { rule: "never", because: "all" },
      { rule: "write", because: "all" },
    ]);
  });
});
