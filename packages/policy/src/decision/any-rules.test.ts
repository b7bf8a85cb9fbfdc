import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inputOf, policyOf } from "../../test/recorded.ts";
import type { Effect } from "../action.ts";
import type { Policy } from "./policy.ts";
import { explainedBy } from "./rules.ts";

/** Tests of paths, of which many wait for a folder, so that the index has something to leave out. */
const pathTest = fc.constantFrom(
  "{ match: 'src/**' }",
  "{ match: 'src/a' }",
  "{ match: ['docs/**', 'src/b'] }",
  "{ match: /w/docs/a }",
  "{ match: '/w/**' }",
  "{ match: '**/a' }",
  "{ match: '!src/**' }",
  "{ match: 'src/**', except: src/a }",
  "{ except: 'docs/**' }",
  "{ place: workspace }",
  "{ place: [home, unknown] }",
  "{ place: workspace, match: 'docs/**' }",
  "{ inside: true }",
  "{ inside: false }",
  "{ destroys: true }",
);
const quantifier = fc.constantFrom("any", "every");
const member = fc.oneof(
  fc
    .tuple(fc.constantFrom("paths", "reads", "writes"), quantifier, pathTest)
    .map(([name, how, test]) => `${name}: { ${how}: ${test} }`),
  fc
    .tuple(quantifier, fc.constantFrom("git push", "git", "'*'", "rm -r"))
    .map(([how, words]) => `commands: { ${how}: [${words}] }`),
  fc
    .tuple(quantifier, fc.constantFrom("a.example", "'*.example'"))
    .map(([how, host]) => `hosts: { ${how}: [${host}] }`),
  fc.constantFrom(
    "effects: { any: [net] }",
    "effects: { every: [read, write] }",
    "tool_name_matches: [bash]",
  ),
  fc.constantFrom("tool_name_matches: [other]", "user: bob", "user: ann", "opaque: false", "harmless: true"),
);
const plain = fc.uniqueArray(member, { maxLength: 2, selector: (one) => one.split(":")[0] }).map(joined);
const condition = fc.oneof(
  plain,
  fc.tuple(plain, plain).map(([one, other]) => joined([one.slice(2, -2), `not: ${other}`])),
  fc.tuple(plain, plain).map(([one, other]) => `{ any_of: [${one}, ${other}] }`),
);
function joined(members: readonly string[]): string {
  return `{ ${members.filter((one) => one.trim() !== "").join(", ")} }`;
}

const rule = fc.tuple(condition, fc.constantFrom("allowed", "allowed", "blocked", "ask"));
const rules = fc.array(rule, { minLength: 1, maxLength: 8 });

const where = fc.constantFrom<Pick<Effect & { kind: "read" }, "path" | "place" | "inside">>(
  { path: "/w/src/a", place: "workspace", inside: "src/a" },
  { path: "/w/src/b", place: "workspace", inside: "src/b" },
  { path: "/w/docs/a", place: "persistence", inside: "docs/a" },
  { path: "/w", place: "workspace", inside: "" },
  { path: "/w/src", place: "workspace", inside: "src" },
  { path: "/home/ann/x", place: "home" },
  { path: "/", place: "system" },
);
const known: fc.Arbitrary<Effect> = fc.oneof(
  fc
    .tuple(where, fc.boolean())
    .map(([one, deep]): Effect => ({ kind: "read", ...one, ...(deep && { deep: true as const }) })),
  fc.tuple(where, fc.boolean(), fc.boolean()).map(
    ([one, deep, destroys]): Effect => ({
      kind: "write",
      ...one,
      destroys,
      ...(deep && { deep: true as const }),
    }),
  ),
  fc.constantFrom<Effect>(
    { kind: "exec", command: "git", arguments: ["push"], opaque: false },
    { kind: "exec", command: "git", arguments: ["-C", "x", "status"], opaque: false },
    { kind: "exec", command: "rm", arguments: ["-r", "src"], opaque: true },
    { kind: "net", host: "a.example" },
    { kind: "net", host: "evil.test" },
  ),
);
/** What the same effect is where its path, host or words are only known at run time. */
function unknownOf(effect: Effect): Effect {
  switch (effect.kind) {
    case "read":
      return { kind: "read", path: "*", place: "unknown", ...(effect.deep && { deep: true as const }) };
    case "write": {
      const reach = effect.deep ? { deep: true as const } : {};
      return { kind: "write", path: "*", place: "unknown", destroys: effect.destroys, ...reach };
    }
    case "exec":
      return { ...effect, command: "*", arguments: [null], opaque: true };
    case "net":
      return { kind: "net", host: "*" };
  }
}
const any = fc.oneof({ weight: 3, arbitrary: known }, { weight: 1, arbitrary: known.map(unknownOf) });

const made = (list: readonly (readonly [string, string])[]): Policy =>
  policyOf(
    `tool_rules:\n${list.map(([given, verdict], at) => `  - { name: r${at}, condition: ${given}, verdict: ${verdict} }`).join("\n")}`,
  );

/** The policy of these rules; `undefined` where the file is refused, such as for a `not` of nothing. */
function policyIfAny(list: readonly (readonly [string, string])[]): Policy | undefined {
  try {
    return made(list);
  } catch {
    return undefined;
  }
}

describe("whatever the rules and the action", () => {
  it("the rule that decides is the first whose condition holds, and the explanation names it", () => {
    let decided = 0;
    fc.assert(
      fc.property(rules, fc.array(any, { maxLength: 4 }), (list, effects) => {
        const policy = policyIfAny(list);
        if (!policy) return;
        const input = inputOf({ effects });
        const { rule: name } = policy.decide(input);
        const first = policy.rules.find(({ matches }) => matches(input));
        expect(name).toBe(first?.rule.name);
        const { rules: explained, verdict } = explainedBy(policy, input);
        expect(verdict).toEqual(policy.decide(input));
        expect(explained.filter(({ matched }) => matched).map((one) => one.rule)).toEqual(name ? [name] : []);
        if (name !== undefined) expect(explained.at(-1)?.failed).toEqual([]);
        if (name !== undefined) decided += 1;
      }),
      { numRuns: 1_500 },
    );
    expect(decided).toBeGreaterThan(100);
  });

  it("rules that allow, allow nothing unknown that they do not name", () => {
    fc.assert(
      fc.property(condition, fc.array(known, { maxLength: 2 }), known, (given, effects, one) => {
        const policy = policyIfAny([[given, "allowed"]]);
        // By its effects, and not by its subject or by naming what is unknown.
        const isAbout = /^\{ (?:paths|reads|writes|hosts): \{ (?:any|every): (?!.*unknown)/.test(given);
        if (!policy || !isAbout || /any_of|not:/.test(given)) return;
        const more = unknownOf(one);
        const members = { read: "paths|reads", write: "paths|writes", net: "hosts", exec: "-" }[one.kind];
        if (!new RegExp(`(?:${members}): \\{ every: `).test(given)) return;
        expect(policy.decide(inputOf({ effects: [...effects, more] })).verdict, given).toBe("blocked");
      }),
      { numRuns: 3_000 },
    );
  });

  it("a rule that stops what is known stops it where it is not known", () => {
    fc.assert(
      fc.property(member, known, fc.constantFrom("blocked", "ask"), (given, effect, verdict) => {
        // Harmless, opaque and places are facts of their own, which a path that is not known has, too.
        if (/harmless|opaque|place:/.test(given)) return;
        const policy = made([
          [`{ ${given} }`, verdict],
          ["{}", "allowed"],
        ]);
        const [before, after] = [effect, unknownOf(effect)].map((one) =>
          policy.decide(inputOf({ effects: [one] })),
        );
        if (before?.verdict === verdict) expect(after?.verdict, given).toBe(verdict);
      }),
      { numRuns: 3_000 },
    );
  });
});
