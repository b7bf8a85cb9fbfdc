import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Deed,
  inputOf,
  modifiedPayloadOf,
  payloadOf,
  payloadsUnder,
  policyOf,
} from "../../test/recorded.ts";
import type { Effect } from "../action.ts";
import { Backtest, type BacktestOptions, type BacktestReport } from "./backtest.ts";

const RULES = `
tool_rules:
  - { name: never, condition: { tool_name_matches: [rm] }, verdict: blocked }
  - { name: question, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }
`;

function report(draft: string, payloads: readonly unknown[], options: BacktestOptions = {}): BacktestReport {
  const backtest = new Backtest(policyOf(draft), options);
  for (const [index, payload] of payloads.entries()) backtest.add(`cid-${index}`, payload);
  return backtest.report();
}

const run = (...words: string[]): Effect => ({
  kind: "exec",
  command: words[0] ?? "",
  arguments: words.slice(1),
  opaque: false,
});

describe("a draft tried on the past", () => {
  const history = payloadsUnder(policyOf(RULES), [
    { tool: "ls", effects: [run("ls", "-l")] },
    { tool: "ls", effects: [run("ls", "src")] },
    { tool: "rm", effects: [run("rm", "-r", "build")] },
    { tool: "deploy", subject: { agent: "other" } },
  ]);

  it("reports what becomes looser and what stricter, grouped and with examples", () => {
    const draft = `
tool_rules:
  - { name: question, condition: { tool_name_matches: [deploy] }, verdict: allowed }
  - { name: careful, condition: { tool_name_matches: [ls] }, verdict: ask }
  - { name: remove, condition: {}, verdict: allowed }`;
    expect(report(draft, history)).toMatchObject({
      total: 4,
      unchanged: 0,
      looser: 2,
      stricter: 2,
      before: { allowed: 2, blocked: 1, ask: 1, defer: 0, modify: 0 },
      after: { allowed: 2, blocked: 0, ask: 2, defer: 0, modify: 0 },
      changes: [
        {
          direction: "stricter",
          from: { verdict: "allowed", rule: "rest" },
          to: { verdict: "ask", rule: "careful" },
          tool: "ls",
          agent: "coder",
          count: 2,
          examples: [
            { entry: "cid-0", what: "ls -l" },
            { entry: "cid-1", what: "ls src" },
          ],
        },
        { direction: "looser", tool: "deploy", agent: "other", count: 1 },
        { direction: "looser", tool: "rm", to: { verdict: "allowed", rule: "remove" }, count: 1 },
      ],
    });
  });

  it("does not call the same verdict by another rule a change of verdict", () => {
    const renamed = report(RULES.replace("name: rest", "name: others"), history);
    expect(renamed).toMatchObject({ total: 4, unchanged: 2, other_rule: 2, looser: 0, stricter: 0 });
    expect(renamed.changes).toMatchObject([
      { direction: "same", from: { rule: "rest" }, to: { rule: "others" } },
    ]);
  });

  it("says blocked by no rule where none matches", () => {
    expect(report("tool_rules: []", history.slice(0, 1)).changes).toMatchObject([
      { to: { verdict: "blocked", rule: null } },
    ]);
  });

  it("gives no more examples than asked for, and no more groups than can be held", () => {
    expect(report("tool_rules: []", history, { examples: 1 }).changes[0]?.examples).toHaveLength(1);
    const names = payloadsUnder(
      policyOf(RULES),
      Array.from({ length: 5_100 }, (_, n) => ({ tool: `made-up-${n}` })),
    );
    const { stricter, changes, changes_left_out } = report("tool_rules: []", names);
    expect({ stricter, groups: changes.length, changes_left_out }).toEqual({
      stricter: 5_100,
      groups: 5_000,
      changes_left_out: 100,
    });
  });

  it("is of one tenant where one is named", () => {
    const others = payloadsUnder(policyOf(RULES), [{ tool: "ls", subject: { tenant: "acme" } }]);
    expect(report(RULES, [...history, ...others], { tenant: "acme" }).total).toBe(1);
    expect(report(RULES, [...history, ...others]).total).toBe(5);
  });

  it("says from when to when", () => {
    const { first_at, last_at } = report(
      RULES,
      payloadsUnder(policyOf(RULES), [{ at: 0 }, { at: 86_400_000 }]),
    );
    expect([first_at, last_at]).toEqual(["1970-01-01T00:00:00.000Z", "1970-01-02T00:00:00.000Z"]);
  });
});

describe("what limits, harnesses and people made of a verdict", () => {
  it("is not held against the rules", () => {
    const policy = policyOf(RULES);
    const answered = payloadOf(policy, inputOf({ tool: "deploy" }), {
      verdict: "allowed",
      policy: { verdict: "ask", rule: "question" },
    });
    const limited = payloadOf(policy, inputOf({ tool: "ls" }), {
      verdict: "blocked",
      rule: "budget",
      policy: { verdict: "allowed", rule: "rest" },
    });
    expect(report(RULES, [answered, limited])).toMatchObject({
      unchanged: 2,
      same_rules: 2,
      contradicted: 0,
    });
  });
});

describe("an action that was modified", () => {
  const modifying = `
tool_rules:
  - { name: smaller, condition: { arguments: { size: '9' } }, verdict: modify, patch: { size: 1 } }
  - { name: rest, condition: {}, verdict: allowed }`;
  const modified = modifiedPayloadOf(policyOf(modifying), inputOf({ arguments: { size: 9 } }));

  it("is modified again by the same rules, and by others that make the same change", () => {
    expect(report(modifying, [modified])).toMatchObject({
      total: 1,
      same_rules: 1,
      unchanged: 1,
      contradicted: 0,
      unfollowed: 0,
      before: { modify: 1 },
      after: { modify: 1 },
    });
    const renamed = report(modifying.replace("smaller", "less"), [modified]);
    expect(renamed).toMatchObject({ other_rule: 1, unfollowed: 0, after: { modify: 1 } });
  });

  it("contradicts rules that would not have modified it, though they are said to have", () => {
    const forged = { ...modified, modified_from: { ...Object(modified.modified_from), rule: "rest" } };
    expect(report(modifying, [forged])).toMatchObject({ same_rules: 1, contradicted: 1 });
  });

  it("is seen to be stopped where what it became would be", () => {
    const draft = modifying.replace(
      "tool_rules:",
      "tool_rules:\n  - { name: none, condition: { arguments: { size: '1' } }, verdict: blocked }",
    );
    expect(report(draft, [modified]).changes).toMatchObject([
      { direction: "stricter", from: { verdict: "modify" }, to: { verdict: "blocked", rule: "none" } },
    ]);
  });

  it("is seen to pass as it was where no rule modifies any more", () => {
    expect(report(RULES, [modified]).changes).toMatchObject([
      { direction: "looser", from: { verdict: "modify" }, to: { verdict: "allowed", rule: "rest" } },
    ]);
  });

  it("is not followed to arguments that only the draft would have produced", () => {
    const otherwise = report(modifying.replace("size: 1", "size: 2"), [modified]);
    expect(otherwise).toMatchObject({ unchanged: 1, unfollowed: 1 });
    const anew = report(modifying, payloadsUnder(policyOf(RULES), [{ arguments: { size: 9 } }]));
    expect(anew).toMatchObject({ blind: 1, unfollowed: 0 });
  });

  it("cannot be decided again when what it was before was not kept", () => {
    const { modified_from, ...without } = modified;
    const large = { ...modified, modified_from: { ...Object(modified_from), facts: null } };
    const { policy: _, ...old } = without;
    expect(report(modifying, [old, large])).toMatchObject({ total: 0, not_replayable: { no_facts: 2 } });
  });

  it.each([
    ["by a second rule that would change it further", "size: '1' } }, verdict: modify, patch: { size: 0 }"],
    ["by a rule that stops it", "size: '1' } }, verdict: blocked"],
    ["by a rule that asks", "size: '1' } }, verdict: ask"],
  ])("is decided the same again where it was stopped %s", (_, condition) => {
    const rules = modifying.replace(
      "  - { name: rest",
      `  - { name: second, condition: { arguments: { ${condition} }\n  - { name: rest`,
    );
    const stopped = modifiedPayloadOf(policyOf(rules), inputOf({ arguments: { size: 9 } }));
    expect(stopped).toMatchObject({ rule: "second" });
    expect(report(rules, [stopped])).toMatchObject({ same_rules: 1, unchanged: 1, contradicted: 0 });
  });
});

describe("what cannot be decided again", () => {
  it("is counted by its reason, never dropped", () => {
    const good = payloadOf(policyOf(RULES), inputOf({}));
    const payloads = [
      { ...good, rules_hash: null, constitution_hash: null },
      { ...good, rules_hash: null, constitution_hash: null, facts: null },
      { ...good, facts: null },
      { verdict: "blocked", reason: "no policy is loaded", event_type: "pre_action" },
      { ...good, facts: { tool: "x", effects: [{ kind: "teleport" }] } },
      { ...good, subject: { user: "ann" } },
      null,
      good,
    ];
    expect(report(RULES, payloads)).toMatchObject({
      total: 1,
      not_replayable: { no_policy: 2, no_facts: 3, unreadable: 2 },
    });
  });
});

describe("arguments", () => {
  const asking = `
tool_rules:
  - { name: prod, condition: { tool_name_matches: [deploy], arguments: { to.name: prod } }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }`;
  const deeds: Deed[] = [
    { tool: "deploy", arguments: { to: { name: "prod" } } },
    { tool: "deploy", arguments: {} },
    { tool: "ls" },
  ];

  it("are found where they were kept", () => {
    expect(report(asking, payloadsUnder(policyOf(asking), deeds))).toMatchObject({
      unchanged: 3,
      blind: 0,
      before: { ask: 1 },
    });
  });

  it("that the record lacks are reported as missing where they could have mattered", () => {
    const payloads = payloadsUnder(policyOf(RULES), deeds);
    expect(report(asking, payloads)).toMatchObject({ looser: 2, blind: 2 });
  });

  it("that a known policy would have kept are known not to be there", () => {
    const made = policyOf(asking);
    const draft = `${asking}\n# changed`;
    const payloads = payloadsUnder(made, deeds);
    expect(report(draft, payloads).blind).toBe(1);
    expect(report(draft, payloads, { known: [made] }).blind).toBe(0);
  });
});

describe("what came before", () => {
  const counting = `
tool_rules:
  - { name: enough, condition: { tool_name_matches: [send], count: { of: { tool_name_matches: [send] }, within: 1m, at_least: 2 } }, verdict: blocked }
  - { name: question, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: after, condition: { tool_name_matches: [push], after: { of: { tool_name_matches: [deploy] } } }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }`;
  const sends = (count: number): Deed[] => Array.from({ length: count }, (_, at) => ({ tool: "send", at }));

  it("is counted as the draft would have let it happen", () => {
    const payloads = payloadsUnder(policyOf(RULES), sends(5));
    expect(report(counting, payloads)).toMatchObject({ total: 5, unchanged: 2, stricter: 3 });
  });

  it("counts only what really happened", () => {
    const strict = "tool_rules: [{ name: none, condition: {}, verdict: blocked }]";
    expect(report(counting, payloadsUnder(policyOf(strict), sends(5)))).toMatchObject({ looser: 5 });
  });

  it("counts what a draft asks about if a person was asked then and agreed", () => {
    const policy = policyOf(RULES);
    const agreed = { verdict: "allowed", policy: { verdict: "ask", rule: "question" } };
    const [deploy, push] = [inputOf({ tool: "deploy" }), inputOf({ tool: "push" })];
    const [yes, no] = [payloadOf(policy, deploy, agreed), payloadOf(policy, deploy)];
    expect(report(counting, [yes, payloadOf(policy, push)])).toMatchObject({ stricter: 1, unchanged: 1 });
    expect(report(counting, [no, payloadOf(policy, push)])).toMatchObject({ stricter: 0, unchanged: 2 });
  });
});

describe("the same policy on the same history", () => {
  const policy = `
tools: { t0: { scopes: [s], sensitivity: high } }
tool_rules:
  - { name: scoped, condition: { lacks_scopes: true }, verdict: defer }
  - { name: often, condition: { tool_name_matches: [t1], count: { of: { tool_name_matches: [t1, t2] }, within: 20ms, at_least: 3, by: user } }, verdict: blocked }
  - { name: once, condition: { tool_name_matches: [t2], after: { of: { paths: { any: { place: home } } }, by: agent } }, verdict: ask }
  - { name: deep, condition: { arguments: { a.b: 'x*', a: '*' } }, verdict: ask }
  - { name: less, condition: { tool_name_matches: [t2, t3], arguments: { a: '1' } }, verdict: modify, patch: { a: 0 } }
  - { name: less_still, condition: { tool_name_matches: [t3], arguments: { a: '0' } }, verdict: modify, patch: { a: -1 } }
  - { name: home, condition: { tool_name_matches: ['t*'], reads: { any: { place: home } }, user: u0 }, verdict: allowed }
  - { name: some, condition: { tool_name_matches: [t1, t2, t3] }, verdict: allowed }`;
  const deed = fc.record({
    tool: fc.constantFrom("t0", "t1", "t2", "t3", "t4"),
    subject: fc.record({
      user: fc.constantFrom("u0", "u1"),
      agent: fc.constantFrom("a0", "a1"),
      session: fc.constantFrom("s0", "s1"),
      scopes: fc.constantFrom([], ["s"]),
    }),
    effects: fc.constantFrom<Effect[]>([], [{ kind: "read", path: "/home/x", place: "home" }]),
    arguments: fc.constantFrom({}, { a: { b: "xyz" } }, { a: 1 }, { a: [{ b: 1 }] }),
    at: fc.nat(5),
  });
  const deeds = fc.array(deed, { maxLength: 60 }).map((list) => {
    let at = 0;
    return list.map((one) => {
      at += one.at;
      return { ...one, at };
    });
  });

  it("reproduces every verdict", () => {
    fc.assert(
      fc.property(deeds, (list) => {
        const { total, unchanged, same_rules } = report(policy, payloadsUnder(policyOf(policy), list));
        expect([total, unchanged, same_rules]).toEqual([list.length, list.length, list.length]);
      }),
    );
  });

  it("reproduces them from the history alone, too", () => {
    fc.assert(
      fc.property(deeds, (list) => {
        const made = policyOf(policy);
        const { total, unchanged, same_rules, blind } = report(
          `${policy}\n# the same`,
          payloadsUnder(made, list),
          {
            known: [made],
          },
        );
        expect([total, unchanged, same_rules, blind]).toEqual([list.length, list.length, 0, 0]);
      }),
    );
  });
});
