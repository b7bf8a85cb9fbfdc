import { describe, expect, it } from "vitest";
import { checkConstitution } from "./check.ts";

const check = (rules: string) => checkConstitution({ file: "c.yaml", rules, prose: new Uint8Array() });

describe("a constitution that is looked through", () => {
  it("is fine when it would be taken", () => {
    const { policy, faults, remarks, tests } = check(`
tool_rules: [{ name: a, condition: {}, verdict: ask }]
tests: [{ name: t, given: { tool: x }, expect: ask, rule: a }]`);
    expect(policy?.rules).toHaveLength(1);
    expect({ faults, remarks }).toEqual({ faults: [], remarks: [] });
    expect(tests).toMatchObject([{ got: { verdict: "ask", rule: "a" }, fault: undefined }]);
  });

  it.each([
    ["tool_rules:\n  - { name: a, verdict: maybe }", { line: 2, column: 25 }, "verdict"],
    [
      "tool_rules:\n  - name: a\n    condition: { tool_nam_matches: [x] }\n    verdict: ask",
      { line: 3, column: 18 },
      'there is no member "tool_nam_matches"',
    ],
    [
      "tool_rules: [{ name: a, verdict: ask, condition: { agent_trust: friend } }]",
      { line: 1, column: 65 },
      "must be one of unknown, registered, standing",
    ],
    [
      "tool_rules: [{ name: a, verdict: ask, condition: { paths: { any: { place: [home, heaven] } } } }]",
      { line: 1, column: 82 },
      "place.1: must be one of unknown, harness",
    ],
    [
      "tool_rules: [{ name: a, verdict: ask, condition: { time: { zone: Mars/Base } } }]",
      { line: 1, column: 66 },
      "time zone",
    ],
    ["tool_rules:\n  - name: a\n   verdict: ask\n", { line: 3, column: 1 }, "Sequence item"],
    ["tests: []", { line: 1, column: 1 }, "tool_rules: is missing"],
  ])("%j is told with its place", (text, place, words) => {
    const { policy, faults } = check(text);
    expect(policy).toBeUndefined();
    expect(faults[0]).toMatchObject({ place, message: expect.stringContaining(words) });
  });

  it("is told where the examples stand that fail", () => {
    const { faults, policy } = check(`tool_rules: [{ name: a, condition: {}, verdict: ask }]
tests:
  - { name: good, given: { tool: x }, expect: ask }
  - { name: bad, given: { tool: x }, expect: allowed }
  - { name: wrong, given: { tool: x }, expect: ask, rule: b }`);
    expect(policy).toBeDefined();
    expect(faults).toEqual([
      { message: 'test "bad": expected allowed, got ask by rule "a"', place: { line: 4, column: 5 } },
      { message: 'test "wrong": expected rule "b", got ask by rule "a"', place: { line: 5, column: 5 } },
    ]);
  });

  it("is told what is most likely a mistake", () => {
    const { faults, remarks } = check(`tool_rules:
  - { name: a, condition: {}, verdict: ask }
  - { name: b, condition: { user: x }, verdict: ask }
  - { name: b, condition: { user: y }, verdict: ask }`);
    expect(faults).toEqual([]);
    expect(remarks.map(({ message, place }) => [place?.line, message.slice(0, 30)])).toEqual([
      [3, 'rule "b" can never match: "a" '],
      [3, 'rule "b" can never match: "a" '],
      [4, 'two rules are called "b"; verd'],
    ]);
  });
});
