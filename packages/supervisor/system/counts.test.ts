import { ManualClock } from "@reins/kit/manual-clock";
import type { Subject } from "@reins/policy";
import { change } from "@reins/store";
import { describe, expect, test } from "vitest";
import { Supervisor } from "../src/decision/supervisor.ts";
import { limitTables } from "../src/limits/tables.ts";
import {
  newHome,
  openParts,
  plainFacts,
  policyOf,
  requestContext,
  supervise,
  testSubject,
  toolEvent,
} from "./fixtures/supervised.ts";

/** A supervisor on a home; `policy` may be swapped, and `stop` ends it as a restart would. */
async function start(home: string, rules: string) {
  const { store, ledger, approvals } = await openParts(home);
  const inForce = { policy: policyOf(rules) };
  const policies = { get: () => inForce.policy };
  const supervisor = new Supervisor({ store, ledger, approvals, policies, gatherFacts: plainFacts });
  const decide = async (tool: string, who: Partial<Subject> = {}, given: unknown = {}) =>
    (await supervisor.decide(toolEvent(tool, given), { ...testSubject, ...who }, requestContext)).verdict;
  const stop = async () => {
    await supervisor.close();
    await approvals.close();
    await store.close();
  };
  const swap = (text: string) => {
    inForce.policy = policyOf(text);
  };
  return { supervisor, decide, stop, swap, store };
}

const LIMITED = `
tool_rules: [{ name: all, condition: {}, verdict: allowed }]
limits: [{ name: few, per: user, within: 1h, calls: 3 }]`;

const SEQUENCED = `
tool_rules:
  - { name: enough, condition: { tool_name_matches: [deploy], count: { of: { tool_name_matches: [deploy] }, within: 1h, at_least: 2 } }, verdict: blocked }
  - { name: tests_first, condition: { tool_name_matches: [deploy], not: { tool_name_matches: [x] }, after: { of: { tool_name_matches: [test] } } }, verdict: allowed }
  - { name: tests, condition: { tool_name_matches: [test] }, verdict: allowed }`;

describe("what was counted", () => {
  test("against a limit still counts after a restart", async () => {
    const home = await newHome();
    const first = await start(home, LIMITED);
    expect([await first.decide("a"), await first.decide("b")]).toEqual(["allowed", "allowed"]);
    await first.stop();
    const second = await start(home, LIMITED);
    expect([await second.decide("c"), await second.decide("d")]).toEqual(["allowed", "blocked"]);
    expect(await second.decide("d", { tenant: "other" })).toBe("allowed");
  });

  test("against a limit is forgotten on the disk when it can count no more, and no other tenant's is", async () => {
    const home = await newHome();
    const { decide, store } = await start(home, LIMITED);
    const old = (tenant: string, days: number) => ({
      ...{ id: `${tenant}${days}`, limit: "few", calls: 1, tokens: 0, cost: 0, time_ms: 0 },
      holder: JSON.stringify([tenant, "user", "ann"]),
      at: Date.now() - days * 86_400_000,
    });
    const uses = [old("default", 400), old("default", 32), old("default", 30), old("other", 400)];
    await store.commit([change(limitTables, "keep", { uses })]);
    expect(await decide("a")).toBe("allowed");
    const kept = await store.query(limitTables, "since", { at: 0 });
    expect(kept.map(({ id }) => id)).toEqual(["other400", "default30", expect.any(String)]);
  });

  test("for a sequence still counts after a restart", async () => {
    const home = await newHome();
    const first = await start(home, SEQUENCED);
    expect(await first.decide("deploy")).toBe("blocked");
    expect([await first.decide("test"), await first.decide("deploy")]).toEqual(["allowed", "allowed"]);
    await first.stop();
    const second = await start(home, SEQUENCED);
    expect([await second.decide("deploy"), await second.decide("deploy")]).toEqual(["allowed", "blocked"]);
  });

  test("for a sequence that asks about arguments still counts after a restart, however deep they lie", async () => {
    const home = await newHome();
    const rules = `
tool_rules:
  - { name: once, condition: { arguments: { to.name: prod }, count: { of: { arguments: { to.name: prod } }, within: 1h, at_least: 1 } }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }`;
    const first = await start(home, rules);
    expect(await first.decide("deploy", {}, { to: { name: "prod" } })).toBe("allowed");
    expect(await first.decide("deploy", {}, { to: { name: "prod" } })).toBe("blocked");
    await first.stop();
    const second = await start(home, rules);
    expect(await second.decide("deploy", {}, { to: { name: "test" } })).toBe("allowed");
    expect(await second.decide("deploy", {}, { to: { name: "prod" } })).toBe("blocked");
  });

  test("still counts when the policy is replaced, also for what was under way", async () => {
    const home = await newHome();
    const { decide, swap } = await start(home, LIMITED);
    const before = Promise.all(Array.from({ length: 50 }, () => decide("a")));
    swap(`${LIMITED}\n# another text`);
    const after = await Promise.all(Array.from({ length: 50 }, () => decide("a")));
    const all = [...(await before), ...after];
    expect(all.filter((verdict) => verdict === "allowed")).toHaveLength(3);
  });
});

describe("what a call took", () => {
  const TIMED = `
tool_rules: [{ name: all, condition: {}, verdict: allowed }]
limits: [{ name: tokens, per: session, within: 1h, tokens: 100 }]`;

  test("counts once it is reported, for the oldest call that fits or the one that is named", async () => {
    const home = await newHome();
    const first = await start(home, TIMED);
    expect(await first.decide("model")).toBe("allowed");
    const end = { event_type: "pre_action", tool: "model" };
    expect(await first.supervisor.settle(testSubject, end, { tokens: 101 })).toMatchObject({ tool: "model" });
    expect(await first.supervisor.settle(testSubject, end, { tokens: 101 })).toBeUndefined();
    expect(await first.decide("model")).toBe("blocked");
    await first.stop();
    const second = await start(home, TIMED);
    expect(await second.decide("model")).toBe("blocked");
  });

  test.each([
    ["less than was seen", 1, "blocked"],
    ["more than was seen", 120_000, "blocked"],
    ["nothing", undefined, "blocked"],
    ["as much, and that is within the limit", 1_000, "allowed", 1_000],
  ])("of time counts at least as measured, reported %s", async (_, time_ms, verdict, took = 61_000) => {
    const clock = new ManualClock();
    const rules = TIMED.replace("tokens: 100", "time: 1m");
    const { decide, supervisor } = await supervise(rules, { clock });
    await decide("model");
    clock.advance(took);
    const usage = time_ms === undefined ? {} : { time_ms };
    await supervisor.settle(testSubject, { event_type: "pre_action", tool: "model" }, usage);
    expect(await decide("model")).toMatchObject({ verdict });
  });
});
