import { describe, expect, it } from "vitest";
import { constitutionDifference } from "./difference.ts";
import { readConstitution } from "./load.ts";

const BASE = `
tool_rules:
  - { name: a, condition: { tool_name_matches: [rm], user: ann }, verdict: ask, reason: careful }
  - { name: b, condition: { user: bob }, verdict: blocked }
  - { name: c, condition: {}, verdict: allowed }
tools: { deploy: { scopes: [prod] } }
limits: [{ name: calls, per: user, within: 1h, calls: 10 }]
harnesses: [{ name: h, url: "http://h" }]
`;

const differ = (after: string, before = BASE) =>
  constitutionDifference(readConstitution(before, "before"), readConstitution(after, "after"));

const brief = (after: string) =>
  differ(after).differences.map(({ section, kind, name }) => `${section}: ${kind} ${name}`);

describe("the difference of two constitutions", () => {
  it("of the same is none", () => {
    expect(differ(`${BASE}# a remark`)).toEqual({ differences: [], no_looser: true, looser_in: [] });
  });

  it("names what was added and removed, with its place", () => {
    const after = BASE.replace(
      / {2}- \{ name: b.*\n/,
      "  - { name: d, condition: { user: eve }, verdict: blocked }\n",
    );
    expect(differ(after).differences).toMatchObject([
      { kind: "removed", name: "b", before: { place: 2 } },
      { kind: "added", name: "d", after: { place: 2, value: { verdict: "blocked" } } },
    ]);
  });

  it("names as moved the fewest rules that were", () => {
    const [first = "", second = "", third = ""] = BASE.match(/ {2}- .*\n/g) ?? [];
    const lines = first + second + third;
    expect(brief(BASE.replace(lines, third + first + second))).toEqual(["rules: moved c"]);
    expect(brief(BASE.replace(lines, second + first + third))).toHaveLength(1);
    expect(brief(BASE.replace(lines, third + second + first))).toHaveLength(2);
  });

  it("names the members of a rule that changed, and of its condition", () => {
    const after = BASE.replace("verdict: ask", "verdict: blocked").replace(
      "user: ann",
      "user: [ann, eve], mode: plan",
    );
    expect(differ(after).differences).toMatchObject([
      {
        kind: "changed",
        name: "a",
        members: [
          { member: "condition.user", before: "ann", after: ["ann", "eve"] },
          { member: "condition.mode", before: undefined, after: "plan" },
          { member: "verdict", before: "ask", after: "blocked" },
        ],
      },
    ]);
  });

  it("looks at limits, tools, harnesses, tests, lists and the mandate too", () => {
    const after = BASE.replace("calls: 10", "calls: 5")
      .replace("scopes: [prod]", "scopes: [prod, eu]")
      .replace('"http://h"', '"http://h", fail: open')
      .concat(
        "default_mandate: be good\ntests: [{ name: t, given: { tool: x }, expect: allowed }]\ntool_approval_policy: { auto_deny: [x2] }",
      );
    expect(brief(after)).toEqual([
      "rules: added tool_approval_policy.auto_deny",
      "limits: changed calls",
      "tools: changed deploy",
      "harnesses: changed h",
      "tests: added t",
      "default_mandate: added default_mandate",
    ]);
  });

  it("distinguishes rules of the same name by their order", () => {
    const twice = BASE.replace("name: b", "name: a");
    expect(differ(twice.replace("user: bob", "user: eve"), twice).differences).toMatchObject([
      { kind: "changed", name: "a", after: { place: 2 }, members: [{ member: "condition.user" }] },
    ]);
  });

  it("says whether it is no looser, and if that cannot be seen, for which part", () => {
    expect(differ(BASE.replace("verdict: ask", "verdict: blocked"))).toMatchObject({
      no_looser: true,
      looser_in: [],
    });
    expect(
      differ(BASE.replace("calls: 10", "calls: 99").replace("verdict: ask", "verdict: allowed")),
    ).toMatchObject({
      no_looser: false,
      looser_in: ["tool_rules", "limits"],
    });
  });
});
