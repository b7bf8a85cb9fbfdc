import { expect, it } from "vitest";
import { type Rule, ruleChanges } from "./policy-page.tsx";

const rule = (name: string, verdict: Rule["verdict"] = "allowed"): Rule => ({
  name,
  verdict,
  condition: {},
  reason: "because",
});

it("lists added, removed, changed and moved rules", () => {
  const before = [rule("one"), rule("two"), rule("three"), rule("four")];
  const after = [rule("two"), rule("one"), rule("four", "blocked"), rule("five")];
  const changes = ruleChanges(before, after).map(({ rule: { name }, kind }) => `${name} ${kind}`);
  expect(changes).toEqual(["two moved", "one moved", "four changed", "five new", "three gone"]);
});

it("does not report a rule as moved because others were removed", () => {
  expect(ruleChanges([rule("one"), rule("two")], [rule("two")]).map(({ kind }) => kind)).toEqual(["gone"]);
  expect(ruleChanges([rule("one")], [rule("one")])).toEqual([]);
});
