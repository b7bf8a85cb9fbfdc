import { AhpServer, serveHttp } from "@reins/ahp";
import { Backtest } from "@reins/policy";
import { describe, expect, onTestFinished, test } from "vitest";
import { Harnesses } from "../src/decision/harnesses.ts";
import { askedApproval, policyOf, supervise, testSubject, toolEvent } from "./fixtures/supervised.ts";

const RULES = `
tool_rules:
  - { name: never, condition: { arguments: { size: '0' } }, verdict: blocked, reason: too small }
  - { name: question, condition: { tool_name_matches: [careful], arguments: { size: '1' } }, verdict: ask }
  - { name: smaller, condition: { tool_name_matches: [big, careful], arguments: { size: '9' } }, verdict: modify, patch: { size: 1 } }
  - { name: nothing, condition: { arguments: { size: '8' } }, verdict: modify, patch: { size: 0 } }
  - { name: one, condition: { arguments: { size: '7' } }, verdict: modify, patch: { size: 6 } }
  - { name: two, condition: { arguments: { size: '6' } }, verdict: modify, patch: { size: 5 } }
  - { name: again, condition: { tool_name_matches: [same] }, verdict: modify, patch: { size: 4 } }
  - { name: late, condition: { count: { of: { tool_name_matches: [big] }, within: 1h, at_least: 3 } }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }
`;

describe("an action that a rule modifies", () => {
  test("is decided again as what it has become", async () => {
    const { decide } = await supervise(RULES);
    expect(await decide("big", { size: 9, name: "x" })).toMatchObject({
      verdict: "modify",
      rule: "smaller",
      modified_arguments: { size: 1, name: "x" },
    });
    expect(await decide("big", { size: 8 })).toMatchObject({ verdict: "blocked", rule: "never" });
    expect(await decide("same")).toMatchObject({ verdict: "modify", modified_arguments: { size: 4 } });
  });

  test("that a second rule would modify further is blocked", async () => {
    const { decide } = await supervise(RULES);
    expect(await decide("big", { size: 7 })).toEqual({
      verdict: "blocked",
      reason: 'the rules "one" and "two" would change it in two ways',
      rule: "two",
      enforcement: "asked",
      entry: undefined,
      written: expect.any(Promise),
    });
  });

  test("and a person allows goes through as modified, never as it was sent", async () => {
    const { decide, approvals } = await supervise(RULES);
    const asked = await decide("careful", { size: 9 });
    expect(asked).toMatchObject({ verdict: "ask", rule: "question" });
    const shown = await approvals.get(askedApproval(asked), "default");
    expect(shown?.facts.arguments).toEqual({ size: 1 });
    await approvals.answer(askedApproval(asked), {
      by: "bob",
      roles: ["approver"],
      tenant: "default",
      decision: "allow_once",
    });
    expect(await decide("careful", { size: 9 })).toMatchObject({
      verdict: "modify",
      reason: "approved by bob",
      modified_arguments: { size: 1 },
    });
  });

  test("is shown to other harnesses as what it has become", async () => {
    const seen: unknown[] = [];
    const other = await serveHttp(
      new AhpServer({
        event: async ({ payload }) => {
          seen.push(payload);
          return { decision: "allow" };
        },
      }),
    );
    onTestFinished(() => other.close());
    const harnesses = new Harnesses();
    onTestFinished(() => harnesses.close());
    const rules = `${RULES}harnesses: [{ name: other, url: "${other.address}" }]`;
    const { decide } = await supervise(rules, { harnesses });
    expect(await decide("big", { size: 9 })).toMatchObject({ verdict: "modify" });
    expect(seen).toEqual([toolEvent("big", { size: 1 }).payload]);
  });
});

describe("the record of an action that a rule modified", () => {
  test("holds what it was, what it became, and what the policy said to each", async () => {
    const { decide, ledger } = await supervise(RULES);
    const { entry } = await decide("big", { size: 9, name: "x" });
    expect((await ledger.get(entry ?? ""))?.entry.payload).toMatchObject({
      verdict: "modify",
      rule: "smaller",
      facts: { tool: "big", arguments: { size: 1 } },
      policy: { verdict: "allowed", rule: "rest" },
      modified_from: {
        rule: "smaller",
        patch: { size: 1 },
        at: expect.any(Number),
        facts: { tool: "big", arguments: { size: 9 } },
        counters: {},
      },
    });
  });

  test("leaves out what it was where that is too large to be kept twice", async () => {
    const { decide, ledger } = await supervise(`
tool_rules:
  - { name: cut, condition: { not: { arguments: { text: short } } }, verdict: modify, patch: { text: short } }
  - { name: rest, condition: {}, verdict: allowed }`);
    const { entry } = await decide("big", { text: "x".repeat(300_000) });
    const found = await ledger.get(entry ?? "");
    expect(found?.entry.payload).toMatchObject({ modified_from: { rule: "cut", facts: null } });
  });

  test("replays exactly, whatever came of it", async () => {
    const { decide, ledger, approvals, supervisor } = await supervise(RULES);
    for (const size of [9, 8, 7, 6, 5, 1, 0]) {
      await decide("big", { size });
      await decide("careful", { size });
    }
    for (const { id } of await approvals.list({ tenant: testSubject.tenant, state: "pending" }))
      await approvals.answer(id, {
        by: "bob",
        roles: ["approver"],
        tenant: testSubject.tenant,
        decision: "allow_once",
      });
    await decide("careful", { size: 9 });
    for (let n = 0; n < 4; n += 1) await decide("same");
    await supervisor.close();
    const backtest = new Backtest(policyOf(RULES));
    const entries = await ledger.read({ quality: "policy_verdict" });
    for (const { entry } of entries) backtest.add(entry.cid, entry.payload);
    expect(backtest.report()).toMatchObject({
      total: 19,
      same_rules: 19,
      unchanged: 19,
      contradicted: 0,
      unfollowed: 0,
      not_replayable: { no_policy: 0, no_facts: 0, unreadable: 0 },
    });
    expect(backtest.report().before.modify).toBeGreaterThan(3);
  });
});
