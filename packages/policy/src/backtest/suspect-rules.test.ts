import { expect, it } from "vitest";
import { policyOf } from "../../test/recorded.ts";
import { unreachableRules } from "./check.ts";

const unreachable = (...conditions: string[]) =>
  unreachableRules(
    policyOf(
      `tool_rules:\n${conditions.map((condition, n) => `  - { name: r${n}, condition: ${condition}, verdict: ask }`).join("\n")}`,
    ),
  ).map(({ rule, because }) => `${rule} by ${because}`);

it("everything after a rule for everything is out of reach", () => {
  expect(unreachable("{ user: a }", "{}", "{ user: b }", "{}")).toEqual(["r2 by r1", "r3 by r1"]);
});

it("so is a rule that asks for more than an earlier one in the same words", () => {
  expect(unreachable("{ user: a }", "{ tool_name_matches: [x], user: a }", "{ user: a }")).toEqual([
    "r1 by r0",
    "r2 by r0",
  ]);
});

it("a rule that asks for something else is not", () => {
  expect(unreachable("{ user: a, agent: x }", "{ user: a }", "{ user: [a] }", "{ agent: x }")).toEqual([]);
});
