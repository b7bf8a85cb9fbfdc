import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyFolder, KeyRing, Ledger, ledgerTables } from "@reins/ledger";
import { type Action, type ControlEvent, loadPolicy, type Policy, type Subject } from "@reins/policy";
import { openSqlite } from "@reins/store";
import { describe, expect, onTestFinished, test } from "vitest";
import { Approvals } from "../src/approvals/approvals.ts";
import { Supervisor } from "../src/decision/supervisor.ts";
import { harnessTables } from "../src/harness/harness.ts";

const subject: Subject = {
  user: "ann",
  tenant: "default",
  roles: [],
  scopes: ["*"],
  agent: "coder",
  trust: "registered",
  session: "s1",
  started: "interactive",
  chain: [],
  depth: 0,
  mode: "default",
  enforcement: "asked",
};

const policyOf = (rules: string): Policy =>
  loadPolicy({ file: "constitution.yaml", rules, prose: new Uint8Array() });

async function gatherFacts({ payload }: ControlEvent): Promise<Action> {
  return { tool: String(payload), effects: [], opaque: false, doubts: [], claims: {}, arguments: {} };
}

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "counts-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

/** A supervisor on a home; `policy` may be swapped, and `stop` ends it as a restart would. */
async function start(home: string, rules: string) {
  const store = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables, ...harnessTables] });
  const signers = new KeyRing(new KeyFolder(join(home, "keys")));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/test" });
  const approvals = new Approvals({ store, ledger });
  const inForce = { policy: policyOf(rules) };
  const policyFor = () => inForce.policy;
  const supervisor = new Supervisor({ store, ledger, approvals, policyFor, gatherFacts });
  const decide = async (tool: string, who: Partial<Subject> = {}) => {
    const event = { event_type: "pre_action", session_id: "s1", agent_id: "coder", depth: 0, payload: tool };
    const setting = { workplace: { cwd: "/w", roots: ["/w"] } };
    return (await supervisor.decide(event, { ...subject, ...who }, setting)).verdict;
  };
  const stop = async () => {
    await supervisor.close();
    await approvals.close();
    await store.close();
  };
  onTestFinished(stop);
  const swap = (text: string) => {
    inForce.policy = policyOf(text);
  };
  return { supervisor, decide, stop, swap };
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

  test("for a sequence still counts after a restart", async () => {
    const home = await newHome();
    const first = await start(home, SEQUENCED);
    expect(await first.decide("deploy")).toBe("blocked");
    expect([await first.decide("test"), await first.decide("deploy")]).toEqual(["allowed", "allowed"]);
    await first.stop();
    const second = await start(home, SEQUENCED);
    expect([await second.decide("deploy"), await second.decide("deploy")]).toEqual(["allowed", "blocked"]);
  });

  test("still counts when the policy is swapped, also for what was under way", async () => {
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

  test("counts once it is told, for the oldest call that fits or the one that is named", async () => {
    const home = await newHome();
    const first = await start(home, TIMED);
    expect(await first.decide("model")).toBe("allowed");
    const end = { event_type: "pre_action", tool: "model" };
    expect(await first.supervisor.settle(subject, end, { tokens: 101 })).toMatchObject({ tool: "model" });
    expect(await first.supervisor.settle(subject, end, { tokens: 101 })).toBeUndefined();
    expect(await first.decide("model")).toBe("blocked");
    await first.stop();
    const second = await start(home, TIMED);
    expect(await second.decide("model")).toBe("blocked");
  });
});
