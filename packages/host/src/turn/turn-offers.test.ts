import type { Draft } from "@reins/ledger";
import type { Harness, Subject } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import type { GovernedSession } from "../governor/governed-session.ts";
import { type TurnOffer, TurnOffers } from "./turn-offers.ts";

const tool = (name: string) => ({ name, description: "", input_schema: {} });
const offerOf = (...names: string[]): TurnOffer => ({
  tools: names.map(tool),
  call: async (name) => ({ text: `ran ${name}`, isError: false }),
});
const sessionOf = (id: string, agent = "native") => ({ id, record: { agent } }) as GovernedSession;
const subject = { agent: "native", tenant: "default", session: "s", trust: "registered" } as Subject;
const inTurn = (turn: string) => ({ _meta: { reins: { turn } } });
const { signal } = new AbortController();

/** Offers under a policy that blocks some tools, and the entries that they are recorded by. */
function offersUnder({ blocked = [] as string[], recorded = [] as Draft[] } = {}) {
  const policy = { blocked, hash: "p1" };
  const harness = {
    supervisor: {
      outlook: (name: string) =>
        policy.blocked.includes(name)
          ? { verdict: "blocked", rule: "r", reason: "no" }
          : { verdict: "allowed", rule: "all", reason: "yes" },
    },
    policies: {
      inForce: { get: () => ({ hashes: { constitution_hash: policy.hash, rules_hash: policy.hash } }) },
    },
    ledger: {
      read: async () => recorded.slice(-1).map((entry) => ({ entry })),
      record: async (drafts: readonly Draft[]) => {
        recorded.push(...drafts);
        return { entries: drafts.map((_, index) => ({ cid: `cid-${recorded.length + index}` })) };
      },
    },
  } as unknown as Harness;
  const offers = new TurnOffers(harness, () => new Date(recorded.length));
  return { offers, policy, recorded };
}

describe("the tools of a turn", () => {
  test("are not gated where none are known", () => {
    const { offers, recorded } = offersUnder();
    expect(offers.gate(sessionOf("s", "other"), subject, {})).toBeUndefined();
    expect(offers.mayUse("s", "deploy")).toBeUndefined();
    expect(recorded).toEqual([]);
  });

  test("are announced by its name until that is withdrawn", async () => {
    const { offers } = offersUnder();
    const withdraw = offers.announce("turn-1", offerOf("deploy"));
    expect(offers.gate(sessionOf("s"), subject, inTurn("turn-2"))).toBeUndefined();
    expect(await offers.gate(sessionOf("s"), subject, inTurn("turn-1"))).toMatchObject({ tools: undefined });
    withdraw();
    expect(offers.gate(sessionOf("s"), subject, inTurn("turn-1"))).toBeUndefined();
  });

  test("may be used as they were decided, and not at all where a client offers others", async () => {
    const { offers } = offersUnder({ blocked: ["delete"] });
    offers.declare("native", [tool("deploy"), tool("delete")]);
    expect(await offers.gate(sessionOf("s"), subject, {})).toMatchObject({ tools: [{ name: "deploy" }] });
    const use = (name: string) => offers.mayUse("s", name);
    expect(["deploy", "delete", "other"].map(use)).toEqual([true, false, undefined]);
    offers.announce("t", offerOf("deploy"));
    await offers.gate(sessionOf("s"), subject, inTurn("t"));
    expect(use("other")).toBe(false);
  });

  test("of a client are those that are allowed and not the agent's own, and it gets the verdicts", async () => {
    const { offers } = offersUnder({ blocked: ["drop"] });
    offers.declare("native", [tool("read_file")]);
    const verdicts: string[] = [];
    const gated: TurnOffer["gated"] = (gates) => verdicts.push(...gates.map(({ verdict }) => verdict));
    offers.announce("t", { ...offerOf("deploy", "drop", "read_file"), gated });
    await offers.gate(sessionOf("s"), subject, inTurn("t"));
    expect(offers.clientTools("s", "native").map(({ name }) => name)).toEqual(["deploy"]);
    expect(offers.clientTools("unknown", "native")).toEqual([]);
    expect(verdicts).toEqual(["allowed", "blocked", "allowed"]);
  });

  test("of a client are withheld from an agent that brings its own", async () => {
    const { offers, recorded } = offersUnder();
    offers.announce("t", offerOf("deploy"));
    await offers.gate(sessionOf("s", "other"), subject, inTurn("t"));
    expect(offers.clientTools("s", "other")).toEqual([]);
    expect(recorded).toMatchObject([
      { payload: { withheld: [{ tool: "deploy", reason: "other brings its own tools" }] } },
    ]);
  });

  test("are run by the client of the session, where it is there", async () => {
    const { offers } = offersUnder();
    offers.declare("native", [tool("read_file")]);
    offers.announce("t", offerOf("deploy"));
    await offers.gate(sessionOf("s"), subject, inTurn("t"));
    expect(await offers.call("s", "deploy", {}, signal)).toEqual({ text: "ran deploy", isError: false });
    offers.forget("s");
    expect(await offers.call("s", "deploy", {}, signal)).toMatchObject({ isError: true });
  });

  test("are forgotten for the sessions that had no turn for longest", async () => {
    const { offers } = offersUnder();
    offers.declare("native", [tool("x")]);
    const known = sessionOf("0");
    await offers.gate(known, subject, {});
    for (let index = 1; index <= 10_000; index += 1)
      await offers.gate({ ...known, id: String(index) } as GovernedSession, subject, {});
    expect([offers.mayUse("0", "x"), offers.mayUse("1", "x")]).toEqual([undefined, true]);
  });
});

describe("the record of an offer", () => {
  test("is one entry for any number of turns, and another when the offer or the policy changes", async () => {
    const { offers, policy, recorded } = offersUnder({ blocked: ["delete"] });
    offers.declare("native", [tool("deploy"), tool("delete")]);
    const session = sessionOf("s");
    const turns = [];
    for (let turn = 0; turn < 3; turn += 1) turns.push(await offers.gate(session, subject, {}));
    expect(turns.map((turn) => turn?.entries.length)).toEqual([1, 0, 0]);
    // The same list, so that nothing is made from it anew.
    expect(turns[2]?.tools).toBe(turns[0]?.tools);
    expect(recorded).toMatchObject([
      {
        tags: ["tool_offer", "modify"],
        payload: {
          at: 0,
          offered: [{ tool: "deploy", rule: "all" }],
          withheld: [{ tool: "delete", rule: "r", reason: "no" }],
        },
      },
    ]);
    policy.hash = "p2";
    await offers.gate(session, subject, {});
    policy.blocked = [];
    await offers.gate(session, subject, {});
    await offers.gate(session, subject, {});
    expect(recorded).toHaveLength(3);
  });

  test("is not repeated after a restart, unless the policy has changed meanwhile", async () => {
    const before = offersUnder();
    before.offers.declare("native", [tool("deploy")]);
    await before.offers.gate(sessionOf("s"), subject, {});
    const after = offersUnder({ recorded: before.recorded });
    after.offers.declare("native", [tool("deploy")]);
    await after.offers.gate(sessionOf("s"), subject, {});
    expect(after.recorded).toHaveLength(1);
    const changed = offersUnder({ recorded: before.recorded, blocked: ["deploy"] });
    changed.offers.declare("native", [tool("deploy")]);
    await changed.offers.gate(sessionOf("s"), subject, {});
    expect(changed.recorded).toHaveLength(2);
  });
});
