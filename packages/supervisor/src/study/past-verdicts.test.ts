import { describe, expect, test } from "vitest";
import { actionOf, subjectOf } from "../../test/approvals/requests.ts";
import { pastDecision, pastVerdicts, policiesInForce } from "./past-verdicts.ts";

interface Range {
  readonly after?: number;
  readonly limit?: number;
  readonly order?: string;
}

/** A ledger of so many verdicts that answers ranges as the real one does. */
function ledgerOf(many: number) {
  const ranges: Range[] = [];
  const all = Array.from({ length: many }, (_, seq) => ({
    seq,
    entry: { cid: `c${seq}`, payload: { seq } },
  }));
  const read = async (range: Range) => {
    ranges.push(range);
    const { after, limit = 100, order } = range;
    if (order === "newest")
      return all
        .filter(({ seq }) => after === undefined || seq < after)
        .toReversed()
        .slice(0, limit);
    return all.filter(({ seq }) => seq > (after ?? -1)).slice(0, limit);
  };
  return { ledger: { read, readStored: read } as never, ranges };
}

async function placesOf(many: number, range: Parameters<typeof pastVerdicts>[1]) {
  const { ledger, ranges } = ledgerOf(many);
  const places: number[] = [];
  for await (const { seq } of pastVerdicts(ledger, range)) places.push(seq);
  return { places, ranges };
}

describe("the verdicts of the past", () => {
  test("are all of them, the oldest first, page by page", async () => {
    const { places, ranges } = await placesOf(250, {});
    expect(places).toEqual(Array.from({ length: 250 }, (_, seq) => seq));
    expect(ranges.length).toBe(3);
  });

  test.each([
    [250, 10, undefined, [240, 249]],
    [250, 120, undefined, [130, 249]],
    [50, 120, undefined, [0, 49]],
    [250, 10, 100, [90, 99]],
    [250, undefined, 100, [0, 99]],
  ])("of %i, limited to %s before %s, are from %j", async (many, limit, before, [first = 0, last = 0]) => {
    const { places } = await placesOf(many, { limit, before });
    expect([places[0], places.at(-1), places.length]).toEqual([first, last, last - first + 1]);
  });

  test.each([
    ["default", undefined],
    ["acme", "acme/"],
  ])("of the tenant %s are looked for by the prefix %s", async (tenant, entity_prefix) => {
    const { ranges } = await placesOf(1, { tenant, since: "2026-11-15T00:00:00.000Z" });
    expect(ranges[0]).toMatchObject({ quality: "policy_verdict", since: "2026-11-15T00:00:00.000Z" });
    expect(Object(ranges[0]).entity_prefix).toBe(entity_prefix);
  });
});

describe("a verdict of the past", () => {
  const payload = {
    ...{ at: 5, constitution_hash: "c", counters: {}, enforcement: "asked", event_type: "pre_action" },
    ...{ facts: actionOf(), reason: "fine", rule: "r", rules_hash: "h", subject: subjectOf() },
    verdict: "allowed",
  };

  test("is decided again on what it was decided on", () => {
    const past = pastDecision(payload);
    expect(past).toMatchObject({
      rules_hash: "h",
      input: { event_type: "pre_action", at: 5, subject: subjectOf(), action: { tool: "edit" } },
      recorded: { verdict: "allowed", rule: "r", reason: "fine", approval: null, grant: null },
    });
  });

  test("that was modified is decided again on what it was before", () => {
    const before = { at: 4, facts: { ...actionOf(), tool: "before" }, counters: { few: 2 } };
    const modified_from = { rule: "r", patch: {}, ...before };
    const past = pastDecision({ ...payload, verdict: "modify", modified_from });
    expect(past).toMatchObject({ input: { action: { tool: "before" }, counters: { few: 2 } } });
  });

  test.each([
    ["no form of a verdict", { any: "thing" }, /not in the form of a verdict/],
    ["no facts", { ...payload, facts: null }, /before it was known what it would do/],
    [
      "no policy",
      { ...payload, facts: null, rules_hash: null, constitution_hash: null },
      /no policy was in force/,
    ],
    ["a subject of another version", { ...payload, subject: { user: 1 } }, /another version of Reins/],
  ])("with %s says why it cannot be decided again", (_, given, why) => {
    expect(pastDecision(given)).toMatch(why);
  });
});

describe("the policies that were in force", () => {
  test("are those that can still be read, the oldest first", async () => {
    const rules = (name: string) => `tool_rules: [{ name: ${name}, condition: {}, verdict: allowed }]`;
    const payloads = [
      { rules_text: rules("one") },
      { rules_text: "tool_rules: [{ nonsense: 1 }]" },
      { other: 1 },
      null,
      { rules_text: 7 },
      { rules_text: rules("two") },
    ];
    const read = async (range: object) => {
      expect(range).toMatchObject({ quality: "policy_change", tag: "constitution:acme" });
      return payloads.map((payload, seq) => ({ seq, entry: { cid: `c${seq}`, payload } }));
    };
    const policies = await policiesInForce({ read } as never, "acme");
    expect(policies.map(({ file }) => file.tool_rules.map(({ name }) => name))).toEqual([["one"], ["two"]]);
  });
});
