import { describe, expect, test } from "vitest";
import { inputOf, policyOf } from "../../test/recorded.ts";
import { isNoLooser } from "./difference.ts";
import { readConstitution } from "./load.ts";

const BASE = `
tool_rules:
  - { name: a, condition: { tool_name_matches: [rm] }, verdict: ask }
  - { name: b, condition: {}, verdict: allowed }
limits: [{ name: calls, per: user, within: 1h, calls: 10 }]
harnesses: [{ name: h, url: "http://h", fail: open }]
`;

const file = (text: string) => readConstitution(text, "f");

test.each<[string, string]>([
  ["the same", BASE],
  ["other words", BASE.replace("name: a,", "name: z, reason: because,")],
  ["a stricter verdict", BASE.replace("verdict: ask", "verdict: blocked")],
  [
    "a block more",
    BASE.replace("tool_rules:", "tool_rules:\n  - { name: n, condition: { user: x }, verdict: blocked }"),
  ],
  ["a lower limit", BASE.replace("calls: 10", "calls: 5")],
  ["a limit more", BASE.replace("limits: [", "limits: [{ name: more, per: tenant, within: 1d, cost: 1 }, ")],
  ["a harness that must answer", BASE.replace("fail: open", "fail: closed")],
  ["one more pair of eyes", BASE.replace("verdict: ask", "verdict: ask, four_eyes: true")],
  ["another mandate", `${BASE}default_mandate: be good`],
])("%s is no looser", (_, text) => {
  expect(isNoLooser(file(text), file(BASE))).toBe(true);
});

test.each<[string, string]>([
  ["a looser verdict", BASE.replace("verdict: ask", "verdict: allowed")],
  ["a rule less", BASE.replace(/ {2}- \{ name: a.*\n/, "")],
  [
    "a question before a block could be",
    BASE.replace("tool_rules:", "tool_rules:\n  - { name: n, condition: {}, verdict: ask }"),
  ],
  ["other people who may answer", BASE.replace("verdict: ask", "verdict: ask, approvers: [staff]")],
  ["a wider condition", BASE.replace("[rm]", "[rm, ls]")],
  ["a higher limit", BASE.replace("calls: 10", "calls: 11")],
  [
    "a limit of another name, against which nothing was counted yet",
    BASE.replace("name: calls", "name: fresh"),
  ],
  ["a limit less", BASE.replace(/limits: .*\n/, "")],
  ["a harness less", BASE.replace(/harnesses: .*\n/, "")],
  ["another order", BASE.replace(/( {2}- \{ name: a.*\n)( {2}- \{ name: b.*\n)/, "$2$1")],
])("%s is looser, as far as one can see", (_, text) => {
  expect(isNoLooser(file(text), file(BASE))).toBe(false);
});

test("one pair of eyes less is looser, unless nothing is asked any more", () => {
  const before = file(BASE.replace("verdict: ask", "verdict: ask, four_eyes: true"));
  expect(isNoLooser(file(BASE), before)).toBe(false);
  expect(isNoLooser(file(BASE.replace("verdict: ask", "verdict: blocked")), before)).toBe(true);
});

describe("a rule that allowed and now asks", () => {
  const rules = (verdict: string, condition: string) =>
    file(`tool_rules:
  - { name: a, condition: { ${condition} }, verdict: ${verdict} }
  - { name: rest, condition: {}, verdict: blocked }`);

  test.each([
    "tool_name_matches: [ls]",
    "user: ann",
    "mode: plan",
    "depth: { at_most: 1 }",
    "harmless: true",
  ])("is no looser where it means the same: %s", (condition) => {
    for (const verdict of ["ask", "defer", "blocked"])
      expect(isNoLooser(rules(verdict, condition), rules("allowed", condition)), verdict).toBe(true);
  });

  test.each([
    "hosts: { every: good.com }",
    "writes: { every: { place: workspace } }",
    "effects: { any: [read] }",
    "any_of: [{ reads: { every: { inside: true } } }]",
    "not: { writes: { any: { destroys: true } } }",
    "tool_name_matches: ['*']",
    "tool_name_matches: [session/new]",
  ])("may take what the next one blocks: %s", (condition) => {
    for (const verdict of ["ask", "defer"])
      expect(isNoLooser(rules(verdict, condition), rules("allowed", condition)), verdict).toBe(false);
    expect(isNoLooser(rules("blocked", condition), rules("allowed", condition))).toBe(true);
  });

  test("for it asks about what it did not allow", () => {
    const decide = (verdict: string) => {
      const text = `tool_rules:
  - { name: a, condition: { hosts: { every: good.com } }, verdict: ${verdict} }
  - { name: rest, condition: {}, verdict: blocked }`;
      return policyOf(text).decide(inputOf({})).verdict;
    };
    expect(decide("allowed")).toBe("blocked");
    expect(decide("ask")).toBe("ask");
  });
});
