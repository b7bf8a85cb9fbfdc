import type { Subject } from "@reins/policy";
import { expect, test } from "vitest";
import { Supervisor } from "../src/decision/supervisor.ts";
import { Identity } from "../src/identity/identity.ts";
import {
  newHome,
  openParts,
  plainFacts,
  policyOf,
  requestContext,
  toolEvent,
} from "./fixtures/supervised.ts";

const BUDGET = 100;
const CALLS = 1_000;

/** A user's session with two sub-agents, one of which has a child; each as the harness itself knows it. */
async function familyOf(identity: Identity, session: string): Promise<(() => Subject)[]> {
  const principal = identity.local();
  const scopes = ["*"];
  const begin = async (childAgent: string, parentAgent: string, childToken?: string) =>
    identity.delegate({
      principal,
      parentSession: session,
      parentAgent,
      childAgent,
      task: "",
      scopes,
      childToken,
    });
  const reader = await begin("reader", "coder");
  const writer = await begin("writer", "coder");
  const scout = await begin("scout", "reader", reader.session_token);
  const own = { principal, agent: "coder", session };
  const children = [
    { agent: "reader", ...reader },
    { agent: "writer", ...writer },
    { agent: "scout", ...scout },
  ].map(({ agent, session_id, session_token }) => ({
    ...{ principal, agent, session: session_id, childToken: session_token },
  }));
  return [own, ...children].map((who) => () => identity.subjectFor({ ...who, enforcement: "asked" }));
}

async function start(home: string, per: string) {
  const { store, ledger, approvals } = await openParts(home);
  const identity = await Identity.open({ store, ledger });
  const policy = policyOf(`
tool_rules: [{ name: all, condition: {}, verdict: allowed }]
limits: [{ name: budget, per: ${per}, within: 1h, calls: ${BUDGET} }]`);
  const supervisor = new Supervisor({
    ...{ store, ledger, approvals },
    policies: { get: () => policy },
    gatherFacts: plainFacts,
  });
  const decide = async (subject: Subject) =>
    (await supervisor.decide(toolEvent("ls"), subject, requestContext)).verdict;
  const stop = async () => {
    await supervisor.close();
    await approvals.close();
    await store.close();
  };
  return { identity, supervisor, ledger, decide, stop };
}

test.each(["session", "user", "agent", "tenant"])(
  "of 1,000 calls at once against a budget of 100 per %s, exactly 100 of a whole tree of agents get through",
  async (per) => {
    const home = await newHome();
    const { identity, supervisor, ledger, decide, stop } = await start(home, per);
    const family = await familyOf(identity, "s1");
    const subjects = family.map((subjectNow) => subjectNow());
    expect(subjects.map(({ agent, depth, chain }) => [agent, depth, chain])).toEqual([
      ["coder", 0, []],
      ["reader", 1, ["coder"]],
      ["writer", 1, ["coder"]],
      ["scout", 2, ["coder", "reader"]],
    ]);
    const verdicts = await Promise.all(
      Array.from({ length: CALLS }, (_, n) => decide(family[n % family.length]?.() ?? expect.fail())),
    );
    expect(verdicts.filter((verdict) => verdict === "allowed")).toHaveLength(BUDGET);
    expect(verdicts.filter((verdict) => verdict === "blocked")).toHaveLength(CALLS - BUDGET);
    const used = await Promise.all(subjects.map((subject) => supervisor.budget(subject)));
    expect(used.map(([budget]) => budget?.used.calls)).toEqual([BUDGET, BUDGET, BUDGET, BUDGET]);
    await supervisor.close();
    expect((await ledger.read({ tag: "allowed", limit: CALLS })).length).toBe(BUDGET);
    await stop();

    const again = await start(home, per);
    for (const subject of subjects) expect(await again.decide(subject)).toBe("blocked");
    const another = (await familyOf(again.identity, "s2")).map((subjectNow) => again.decide(subjectNow()));
    const expected = per === "session" ? "allowed" : "blocked";
    expect(new Set(await Promise.all(another))).toEqual(new Set([expected]));
  },
);
