import { describe, expect, it, test } from "vitest";
import { inputOf, policyOf } from "../../test/recorded.ts";
import { RuleVerdict } from "../constitution/constitution.ts";
import { blake3Hex, permitsAction } from "./policy.ts";
import { afterModify, isAtLeastAsStrict } from "./verdict.ts";

const ORDER = ["blocked", "defer", "ask", "modify", "allowed"] as const;

describe("the strictness of verdicts", () => {
  it("is an order of all of them", () => {
    expect([...ORDER].sort()).toEqual([...RuleVerdict.options].sort());
    for (const [left, one] of ORDER.entries())
      for (const [right, other] of ORDER.entries())
        expect(isAtLeastAsStrict(one, other), `${one} ${other}`).toBe(left <= right);
  });

  it("lets an action happen by two of them", () => {
    expect(ORDER.filter(permitsAction)).toEqual(["modify", "allowed"]);
  });
});

describe("an action that a rule modifies", () => {
  const first = { verdict: "modify", rule: "m" } as const;
  const rows = [
    ["allowed", "x", "modify", "m"],
    ["blocked", "x", "blocked", "x"],
    ["ask", "x", "ask", "x"],
    ["defer", "x", "defer", "x"],
    ["modify", "m", "modify", "m"],
    ["modify", "x", "blocked", "x"],
  ] as const;
  test.each(rows)("and that is then %s by %s is %s by %s", (verdict, rule, outcome, by) => {
    expect(afterModify(first, { verdict, rule })).toEqual({ verdict: outcome, rule: by });
  });

  it("is blocked where no rule takes what it has become", () => {
    expect(afterModify(first, { verdict: "blocked", rule: undefined })).toEqual({
      ...{ verdict: "blocked", rule: undefined },
    });
  });
});

describe("a verdict", () => {
  const verdictOf = (rule: string) => policyOf(`tool_rules: [{ name: r, ${rule} }]`).decide(inputOf({}));

  it("names the rule, its reason and the hashes", () => {
    const text = "tool_rules: [{ name: r, verdict: allowed, reason: fine }]";
    expect(policyOf(text).decide(inputOf({}))).toEqual({
      ...{ verdict: "allowed", rule: "r", reason: "fine" },
      ...{ rules_hash: blake3Hex(text), constitution_hash: blake3Hex("") },
    });
  });

  it("has a reason also where the rule gives none", () => {
    expect(verdictOf("verdict: blocked").reason).toBe('rule "r"');
  });

  it("carries what its kind needs, and nothing else", () => {
    expect(
      verdictOf("verdict: ask, quorum: 2, approvers: [lead], four_eyes: true, expires: 10m"),
    ).toMatchObject({
      ...{ quorum: 2, approvers: ["lead"], four_eyes: true, expires_ms: 600_000 },
    });
    expect(Object.keys(verdictOf("verdict: ask"))).not.toContain("quorum");
    expect(verdictOf("verdict: defer, retry_after: 90s")).toMatchObject({ retry_after_ms: 90_000 });
    expect(verdictOf("verdict: defer")).toMatchObject({ retry_after_ms: 60_000 });
    expect(verdictOf("verdict: modify, patch: { a.b: 1 }")).toMatchObject({ patch: { "a.b": 1 } });
  });

  it("is blocked where no rule matches", () => {
    expect(policyOf("tool_rules: []").decide(inputOf({}))).toMatchObject({
      ...{ verdict: "blocked", rule: undefined, reason: "no matching policy rule" },
    });
  });
});

describe("hashes", () => {
  it("are BLAKE3 in lower-case hexadecimal", () => {
    expect(blake3Hex("")).toBe("af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    expect(blake3Hex("abc")).toBe("6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
    expect(blake3Hex(new TextEncoder().encode("abc"))).toBe(blake3Hex("abc"));
  });

  it("change with every byte of the file, also where its meaning does not", () => {
    const hashOf = (text: string) => policyOf(text).hashes.rules_hash;
    const texts = ["tool_rules: []", "tool_rules: [ ]", "tool_rules: []\n", "# c\ntool_rules: []"];
    expect(new Set(texts.map(hashOf)).size).toBe(texts.length);
  });
});

describe("events that no tool makes", () => {
  const TOOLS = "tool_rules: [{ name: t, condition: { tool_name_matches: [bash] }, verdict: allowed }]";
  const ADVICE = ["idle", "context_perception", "memory_recall", "planning", "reasoning"];
  const decide = (rules: string, event_type: string) =>
    policyOf(rules).decide(inputOf({ event_type, tool: "" })).verdict;

  it("pass under rules that are about tools alone", () => {
    for (const event of ["session_start", "pre_prompt", ...ADVICE])
      expect(decide(TOOLS, event), event).toBe("allowed");
    expect(decide(TOOLS, "pre_action")).toBe("blocked");
    expect(decide(TOOLS, "post_action")).toBe("blocked");
  });

  it("are blocked where some rule names an event and none is about them", () => {
    const rules = "tool_rules: [{ name: e, condition: { event: pre_action }, verdict: allowed }]";
    expect(decide(rules, "session_start")).toBe("blocked");
    expect(decide(rules, "pre_prompt")).toBe("blocked");
    for (const event of ADVICE) expect(decide(rules, event), event).toBe("allowed");
  });

  it("ask for advice without being asked about, unless a rule names them", () => {
    const all = "tool_rules: [{ name: all, condition: {}, verdict: ask }]";
    for (const event of ADVICE) expect(decide(all, event), event).toBe("allowed");
    const named = "tool_rules: [{ name: p, condition: { event: planning }, verdict: ask }]";
    expect(decide(named, "planning")).toBe("ask");
    expect(decide(named, "idle")).toBe("allowed");
  });

  it("are blocked by a rule that blocks the subject", () => {
    const rules = "tool_rules: [{ name: b, condition: { user: ann }, verdict: blocked }]";
    for (const event of ADVICE) expect(decide(rules, event), event).toBe("blocked");
  });

  it("find the rule about them behind one that is about tools", () => {
    for (const first of ["ask", "allowed", "defer"]) {
      const rules = `
tool_rules:
  - { name: first, condition: {}, verdict: ${first} }
  - { name: second, condition: { event: planning }, verdict: blocked }`;
      expect(decide(rules, "planning"), first).toBe("blocked");
    }
  });
});
