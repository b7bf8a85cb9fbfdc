import { describe, expect, it, test } from "vitest";
import { inputOf, policyOf } from "../../test/recorded.ts";
import type { Effect } from "../action.ts";

const unknownRead: Effect = { kind: "read", path: "*", place: "unknown" };
const unknownWrite: Effect = { kind: "write", path: "*", place: "unknown", destroys: true };
const unknownBelow: Effect = { kind: "write", path: "*", place: "unknown", destroys: false, deep: true };
const unknownHost: Effect = { kind: "net", host: "*" };
const run = (command: string, ...words: (string | null)[]): Effect => ({
  ...{ kind: "exec", command, arguments: words, opaque: false },
});
const known = (inside: string, kind: "read" | "write" = "write"): Effect => {
  const path = { path: `/w/${inside}`, place: "workspace", inside } as const;
  return kind === "read" ? { kind, ...path } : { kind, ...path, destroys: false };
};

/** Whether the only rule matches. */
function matches(condition: string, verdict: string, effects: readonly Effect[]): boolean {
  const policy = policyOf(`tool_rules: [{ name: r, condition: ${condition}, verdict: ${verdict} }]`);
  return policy.decide(inputOf({ effects })).rule === "r";
}

/** Conditions that something which is only known at run time may fulfil or not, and something that does for certain. */
const ROWS: readonly (readonly [condition: string, unknown: Effect, certain: Effect])[] = [
  ["paths: { QUANTIFIER: { match: 'src/**' } }", unknownWrite, known("src/a")],
  ["paths: { QUANTIFIER: { match: 'src/**' } }", unknownRead, known("src/a", "read")],
  ["paths: { QUANTIFIER: { match: ['**/*.sql', /w/src/a] } }", unknownRead, known("src/a", "read")],
  ["paths: { QUANTIFIER: { match: '**' } }", unknownRead, known("src/a", "read")],
  ["paths: { QUANTIFIER: { match: '!docs/**' } }", unknownRead, known("src/a", "read")],
  ["paths: { QUANTIFIER: { except: 'docs/**' } }", unknownRead, known("src/a", "read")],
  ["paths: { QUANTIFIER: { match: 'src/**', except: 'src/b' } }", unknownRead, known("src/a", "read")],
  ["paths: { QUANTIFIER: { inside: true } }", unknownRead, known("src/a", "read")],
  ["paths: { QUANTIFIER: { inside: false } }", unknownRead, { kind: "read", path: "/a", place: "system" }],
  ["paths: { QUANTIFIER: { destroys: false } }", unknownBelow, known("src/a")],
  ["reads: { QUANTIFIER: { match: 'src/**' } }", unknownRead, known("src/a", "read")],
  ["writes: { QUANTIFIER: { match: 'src/**' } }", unknownWrite, known("src/a")],
  ["writes: { QUANTIFIER: { match: 'src/**' } }", unknownBelow, known("src/a")],
  ["hosts: { QUANTIFIER: [a.example] }", unknownHost, { kind: "net", host: "a.example" }],
  ["commands: { QUANTIFIER: [git push] }", run("git", null), run("git", "push")],
  ["commands: { QUANTIFIER: [git push] }", run("*"), run("git", "push")],
  ["commands: { QUANTIFIER: [git push] }", run("*", "status"), run("git", "push")],
];
const CASES = ROWS.flatMap(([condition, unknown, certain]) =>
  (["every", "any"] as const).map(
    (quantifier) => [condition.replace("QUANTIFIER", quantifier), unknown, certain] as const,
  ),
);
/** In a rule that allows, so that only the tested member keeps it from matching. */
const NAMED = "effects: { every: [read, write, exec, net] }";
const STOPPING = ["blocked", "ask", "defer"];

describe("what is only known at run time", () => {
  describe.each(STOPPING)("counts in a rule with the verdict %s", (verdict) => {
    test.each(CASES)("that asks for %s", (condition, unknown, certain) => {
      expect(matches(`{ ${condition} }`, verdict, [certain])).toBe(true);
      expect(matches(`{ ${condition} }`, verdict, [unknown])).toBe(true);
      expect(matches(`{ any_of: [{ ${condition} }] }`, verdict, [unknown])).toBe(true);
    });

    test.each(CASES)("but not as an exception to it: not %s", (condition, unknown, certain) => {
      expect(matches(`{ not: { ${condition} } }`, verdict, [certain])).toBe(false);
      expect(matches(`{ not: { ${condition} } }`, verdict, [unknown])).toBe(true);
    });
  });

  describe("does not count in a rule that allows", () => {
    test.each(CASES)("what has %s", (condition, unknown, certain) => {
      expect(matches(`{ ${NAMED}, ${condition} }`, "allowed", [certain])).toBe(true);
      expect(matches(`{ ${NAMED}, ${condition} }`, "allowed", [unknown])).toBe(false);
      expect(matches(`{ ${NAMED}, any_of: [{ ${condition} }] }`, "allowed", [unknown])).toBe(false);
    });

    test.each(CASES)("but as an exception to it: not %s", (condition, unknown, certain) => {
      expect(matches(`{ ${NAMED}, not: { ${condition} } }`, "allowed", [certain])).toBe(false);
      expect(matches(`{ ${NAMED}, not: { ${condition} } }`, "allowed", [unknown])).toBe(false);
    });
  });

  it("is a place of its own: a rule that names others is about those", () => {
    for (const verdict of [...STOPPING, "allowed"])
      for (const quantifier of ["every", "any"]) {
        const asked = (test: string) => `{ ${NAMED}, paths: { ${quantifier}: { ${test} } } }`;
        expect(matches(asked("place: [home, workspace]"), verdict, [unknownRead])).toBe(false);
        expect(matches(asked("place: workspace, match: 'src/**'"), verdict, [unknownRead])).toBe(false);
        expect(matches(asked("place: [workspace, unknown]"), verdict, [unknownRead])).toBe(true);
        expect(matches(asked("place: unknown, destroys: true"), verdict, [unknownWrite])).toBe(true);
        expect(matches(asked("place: unknown, destroys: false"), verdict, [unknownWrite])).toBe(false);
        const isMatched = verdict !== "allowed";
        expect(matches(asked("place: unknown, match: 'src/**'"), verdict, [unknownRead])).toBe(isMatched);
        expect(matches(asked("place: unknown, except: 'src/**'"), verdict, [unknownRead])).toBe(isMatched);
      }
  });

  it("counts in sequences as in the rule they stand in, and against limits", () => {
    const policy = policyOf(`
tool_rules:
  - { name: told, condition: { after: { of: { reads: { any: { match: 'keys/**' } } } }, effects: { any: [net] } }, verdict: blocked }
  - { name: rest, condition: {}, verdict: ask }
limits:
  - { name: few, per: user, condition: { writes: { any: { match: 'db/**' } } }, calls: 1 }`);
    const [sequence] = policy.sequences;
    const isCounted = (effects: readonly Effect[]) =>
      sequence?.clauses.every(({ holds }) => holds(inputOf({ effects })));
    expect(isCounted([unknownRead])).toBe(true);
    expect(isCounted([known("src/a", "read")])).toBe(false);
    expect(policy.limits.map(({ applies }) => applies(inputOf({ effects: [unknownWrite] })))).toEqual([true]);
    expect(policy.limits.map(({ applies }) => applies(inputOf({ effects: [known("src/a")] })))).toEqual([
      false,
    ]);
  });

  it("finds a rule among many that wait for paths in folders, in the order of the file", () => {
    const rules = ["a", "b", "c"].map(
      (name) =>
        `{ name: ${name}, condition: { writes: { any: { match: '${name}/**' } } }, verdict: blocked }`,
    );
    const policy = policyOf(`tool_rules: [${rules.join(", ")}, { name: rest, condition: {}, verdict: ask }]`);
    const ruleFor = (...effects: Effect[]) => policy.decide(inputOf({ effects })).rule;
    expect(ruleFor(unknownWrite)).toBe("a");
    expect(ruleFor(known("c/x"), unknownWrite)).toBe("a");
    expect(ruleFor(known("c/x"))).toBe("c");
    expect(ruleFor(unknownRead)).toBe("rest");
    expect(ruleFor(known("d/x"))).toBe("rest");
  });
});
