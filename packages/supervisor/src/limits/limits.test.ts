import { type DecisionInput, loadPolicy, type Subject } from "@reins/policy";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Limits } from "./limits.ts";
import type { Use } from "./tables.ts";
import { type TenantState, TenantStates } from "./tenant-states.ts";

const subject: Subject = {
  user: "ann",
  tenant: "acme",
  roles: [],
  scopes: [],
  agent: "root",
  trust: "registered",
  session: "s1",
  started: "interactive",
  chain: [],
  depth: 0,
  mode: "default",
  enforcement: "asked",
};

function limits(yaml: string) {
  const policy = loadPolicy({
    file: "c.yaml",
    rules: `tool_rules: []\nlimits: ${yaml}`,
    prose: new Uint8Array(),
  });
  let next = 0;
  return new Limits(policy, () => String(next++));
}

const call = (at = 0, who: Partial<Subject> = {}, tool = "bash"): DecisionInput => ({
  event_type: "pre_action",
  action: { tool, effects: [], opaque: false, doubts: [], claims: {}, arguments: {} },
  subject: { ...subject, ...who },
  counters: {},
  at,
});

test("of 1,000 calls at once against a budget of 100, 100 pass, sub-agents included", () => {
  const budget = limits("[{ name: calls, per: session, within: 1h, calls: 100 }]");
  const child = {
    agent: "child",
    session: "s2",
    root_session: "s1",
    chain: ["root"],
    started: "sub-agent",
  } as const;
  const outcomes = Array.from({ length: 1_000 }, (_, n) => budget.reserve(call(n, n % 2 ? child : {})));
  expect(outcomes.filter(({ passed }) => passed)).toHaveLength(100);
  expect(outcomes.at(-1)).toEqual({
    passed: false,
    verdict: {
      verdict: "blocked",
      rule: "calls",
      reason: 'the limit "calls" of 100 calls in 1h per session is used up',
    },
  });
});

test("two limits of one name count each on its own", () => {
  const budget = limits(
    "[{ name: calls, per: user, within: 1m, calls: 2 }, { name: calls, per: user, within: 1d, calls: 5 }]",
  );
  const passed = Array.from({ length: 10 }, (_, n) => budget.reserve(call(n * 61_000)).passed);
  expect(passed).toEqual([true, true, true, true, true, false, false, false, false, false]);
});

test("a limit without a time counts for ever, in memory that does not grow with every use", () => {
  const budget = limits("[{ name: calls, per: session, calls: 5000 }]");
  const YEAR = 366 * 86_400_000;
  for (let n = 0; n < 5_000; n += 1) {
    expect(budget.reserve(call(n * YEAR)).passed).toBe(true);
    budget.forgetOld(n * YEAR);
  }
  expect(budget.size).toBeLessThan(2_500);
  expect(budget.reserve(call(6_000 * YEAR))).toMatchObject({
    passed: false,
    verdict: { reason: 'the limit "calls" of 5000 calls per session is used up' },
  });
  expect(budget.reserve(call(0, { session: "other" })).passed).toBe(true);
});

test("sessions that are long over are forgotten, and what still counts is not", () => {
  const budget = limits("[{ name: calls, per: session, within: 1h, calls: 2 }]");
  for (let n = 0; n < 5_000; n += 1) {
    budget.reserve(call(n, { session: `s${n}` }));
    budget.forgetOld(n);
  }
  const later = 3_600_000 + 4_000;
  for (let n = 0; n < 1_000; n += 1) budget.forgetOld(later);
  expect(budget.size).toBe(999);
  expect(budget.reserve(call(later, { session: "s4500" }))).toMatchObject({ passed: true });
  expect(budget.reserve(call(later, { session: "s4500" }))).toMatchObject({ passed: false });
});

test("what was reserved and not used is given back, and old uses count no more", () => {
  const budget = limits("[{ name: calls, per: user, within: 10s, calls: 1, exceeded: defer }]");
  const first = budget.reserve(call(0));
  if (!first.passed) throw new Error("blocked");
  expect(budget.reserve(call(1))).toMatchObject({ passed: false, verdict: { verdict: "defer" } });
  budget.release(first.uses);
  expect(budget.reserve(call(2)).passed).toBe(true);
  expect(budget.reserve(call(10_001)).passed).toBe(false);
  expect(budget.reserve(call(10_002)).passed).toBe(true);
});

test("a person's yes goes beyond a limit that asks for one, counts as a use, and helps against no other", () => {
  const budget = limits(`[{ name: asks, per: user, within: 1h, calls: 1, exceeded: ask },
    { name: hard, per: user, within: 1h, calls: 2 }]`);
  expect(budget.reserve(call(0)).passed).toBe(true);
  expect(budget.reserve(call(1))).toMatchObject({ passed: false, verdict: { verdict: "ask", rule: "asks" } });
  expect(budget.reserve(call(2), { approved: true }).passed).toBe(true);
  expect(budget.reserve(call(3), { approved: true })).toMatchObject({
    passed: false,
    verdict: { rule: "hard" },
  });
  expect(budget.report(call(4).subject, 4).map(({ used }) => used.calls)).toEqual([2, 2]);
});

test("a limit that defers says when its oldest use counts no more, from a second to a minute", () => {
  const retryAfter = (within: string, at: number) => {
    const budget = limits(`[{ name: calls, per: user, ${within}calls: 1, exceeded: defer }]`);
    budget.reserve(call(0));
    const outcome = budget.reserve(call(at));
    return !outcome.passed && outcome.verdict.verdict === "defer" && outcome.verdict.retry_after_ms;
  };
  expect(retryAfter("within: 10s, ", 4_000)).toBe(6_000);
  expect(retryAfter("within: 10s, ", 9_900)).toBe(1_000);
  expect(retryAfter("within: 1h, ", 1)).toBe(60_000);
  expect(retryAfter("", 1)).toBe(60_000);
});

test("tokens, cost and time count once they are settled", () => {
  const budget = limits(
    "[{ name: tokens, per: tenant, within: 1d, tokens: 1000 }, { name: cost, per: tenant, within: 1d, cost: 5 }]",
  );
  const first = budget.reserve(call(0));
  if (!first.passed) throw new Error("blocked");
  budget.settle(first.uses, { tokens: 900, cost: 1 });
  const second = budget.reserve(call(1));
  if (!second.passed) throw new Error("blocked");
  budget.settle(second.uses, { tokens: 200, cost: 1 });
  expect(budget.reserve(call(2))).toMatchObject({ passed: false, verdict: { rule: "tokens" } });
});

test("limits are each holder's own, in its tenant, and only for what they are about", () => {
  const budget = limits(
    "[{ name: calls, per: user, within: 1h, calls: 1, condition: { tool_name_matches: [deploy] } }]",
  );
  expect(budget.reserve(call(0, {}, "deploy")).passed).toBe(true);
  expect(budget.reserve(call(0, {}, "deploy")).passed).toBe(false);
  expect(budget.reserve(call(0, { user: "bob" }, "deploy")).passed).toBe(true);
  expect(budget.reserve(call(0, { tenant: "other" }, "deploy")).passed).toBe(true);
  expect(budget.reserve(call(0, {}, "ls")).passed).toBe(true);
});

test("uses are kept across a restart", () => {
  const yaml = "[{ name: calls, per: user, within: 1h, calls: 2 }]";
  const before = limits(yaml);
  const uses = [before.reserve(call(0)), before.reserve(call(1))].flatMap((outcome) =>
    outcome.passed ? outcome.uses : [],
  );
  const after = limits(yaml);
  after.restore(uses);
  expect(after.reserve(call(2)).passed).toBe(false);
});

describe("the counts of a tenant", () => {
  const policyOf = (calls: number) =>
    loadPolicy({
      ...{ file: "c.yaml", prose: new Uint8Array() },
      rules: `tool_rules: []\nlimits: [{ name: calls, per: user, within: 1h, calls: ${calls} }]`,
    });

  function states(stored: readonly Use[] = []) {
    let next = 0;
    let queries = 0;
    const query = async () => {
      queries += 1;
      return stored;
    };
    const options = { store: { query }, ledger: { read: async () => [] }, now: () => 0 };
    const all = new TenantStates({ ...options, newId: () => String(next++) } as never);
    return { all, queries: () => queries };
  }

  const reserve = async ({ limits: held }: TenantState) => held.reserve(call(1)).passed;

  test("are restored once, from what was kept of that tenant", async () => {
    const before = limits("[{ name: calls, per: user, within: 1h, calls: 9 }]");
    const mine = before.reserve(call(0));
    const others = before.reserve(call(0, { tenant: "zeta" }));
    if (!mine.passed || !others.passed) throw new Error("blocked");
    const { all, queries } = states([...mine.uses, ...others.uses]);
    const policy = policyOf(2);
    expect(all.held.get("acme")?.state).toBeUndefined();
    const passed = await Promise.all([1, 2, 3].map(() => all.under("acme", policy, reserve)));
    expect(passed).toEqual([true, false, false]);
    expect(queries()).toBe(1);
    expect(all.held.get("acme")?.state?.policy).toBe(policy);
  });

  test("pass on to the next policy after the decisions under the last one are written", async () => {
    const { all } = states();
    const [first, second] = [policyOf(2), policyOf(2)];
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    const slow = all.under("acme", first, async (state) => {
      await reserve(state);
      await gate.promise;
      order.push("first");
    });
    await all.under("acme", first, reserve);
    const swapped = all.under("acme", second, async (state) => {
      order.push("second");
      return reserve(state);
    });
    await new Promise(setImmediate);
    expect(order).toEqual([]);
    gate.resolve();
    await slow;
    expect(await swapped).toBe(false);
    expect(order).toEqual(["first", "second"]);
  });

  test("are released by a decision that fails", async () => {
    const { all } = states();
    const failing = all.under("acme", policyOf(1), () => Promise.reject(new Error("broken")));
    await expect(failing).rejects.toThrow("broken");
    expect(await all.under("acme", policyOf(1), reserve)).toBe(true);
  });

  test("are each tenant's own", async () => {
    const { all } = states();
    const policy = policyOf(1);
    expect(await all.under("acme", policy, reserve)).toBe(true);
    expect(await all.under("zeta", policy, reserve)).toBe(true);
    expect(await all.under("acme", policy, reserve)).toBe(false);
  });
});

test("no sequence of calls, releases and restarts lets more than the limit pass at once", () => {
  const step = fc.constantFrom("reserve", "release", "restart");
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 60 }), (most, steps) => {
      const yaml = `[{ name: calls, per: user, within: 1h, calls: ${most} }]`;
      let budget = limits(yaml);
      const held: Use[][] = [];
      let ids = 0;
      for (const what of steps) {
        if (what === "reserve") {
          const outcome = budget.reserve(call(1));
          expect(outcome.passed).toBe(held.length < most);
          if (!outcome.passed) continue;
          // A limit that is made anew counts its ids anew.
          ids += 1;
          const uses = outcome.uses.map((use) => ({ ...use, id: `use ${ids}` }));
          budget.release(outcome.uses);
          budget.restore(uses);
          held.push(uses);
        } else if (what === "release") budget.release(held.pop() ?? []);
        else {
          budget = limits(yaml);
          budget.restore(held.flat());
        }
      }
    }),
  );
});

describe("a reservation", () => {
  const reserves = { tokens: 400, cost: 4 };

  test("goes beyond a limit by no more than one of them, whatever comes at once, and is given back", () => {
    const budget = limits("[{ name: few, per: session, within: 1h, tokens: 1000 }]");
    const outcomes = Array.from({ length: 100 }, () => budget.reserve(call(), { reserves }));
    const passed = outcomes.flatMap((outcome) => (outcome.passed ? [outcome.uses] : []));
    expect(passed).toHaveLength(3);
    for (const uses of passed) budget.settle(uses, { tokens: 100, cost: 1 });
    expect(budget.report(subject, 0)[0]?.used).toMatchObject({ calls: 3, tokens: 300, cost: 3 });
    expect(budget.reserve(call(), { reserves }).passed).toBe(true);
  });

  test("of an unknown cost passes no limit on cost, unless a person says yes", () => {
    const unpriced = { tokens: 400, cost: 0, unpriced: "the price of m is not known" };
    const hard = limits("[{ name: money, per: user, within: 1h, cost: 5, exceeded: defer }]");
    expect(hard.reserve(call(), { reserves: unpriced })).toEqual({
      passed: false,
      verdict: {
        verdict: "blocked",
        rule: "money",
        reason: 'the limit "money" of a cost of 5 in 1h per user cannot hold: the price of m is not known',
      },
    });
    expect(hard.size).toBe(0);
    const asks = limits("[{ name: money, per: user, cost: 5, exceeded: ask }]");
    expect(asks.reserve(call(), { reserves: unpriced })).toMatchObject({ verdict: { verdict: "ask" } });
    expect(asks.reserve(call(), { reserves: unpriced, approved: true }).passed).toBe(true);
    const tokens = limits("[{ name: few, per: user, tokens: 500 }]");
    const outcome = tokens.reserve(call(), { reserves: unpriced });
    expect(outcome.passed && outcome.uses).toMatchObject([{ tokens: 400, cost: 0 }]);
    expect(outcome.passed && outcome.uses[0]).not.toHaveProperty("unpriced");
  });

  test("needs something that is left, and counts what is left beside itself", () => {
    const budget = limits("[{ name: few, per: session, within: 1h, tokens: 1000, cost: 50 }]");
    const first = budget.reserve(call(), { reserves });
    const uses = first.passed ? first.uses : [];
    expect(budget.roomFor(uses, 0)).toEqual({ tokens: 1_000, cost: 50 });
    budget.charge(call(), { tokens: 900, cost: 45 });
    expect(budget.roomFor(uses, 0)).toEqual({ tokens: 100, cost: 5 });
    budget.settle(uses, { tokens: 100, cost: 0 });
    // All 1,000 are used, which only another action that uses none would pass.
    expect(budget.reserve(call(), { reserves }).passed).toBe(false);
    expect(budget.reserve(call()).passed).toBe(true);
    expect(budget.roomFor([], 0).tokens).toBeGreaterThan(1e15);
  });
});
