import { AhpClient } from "@reins/ahp";
import { describe, expect, onTestFinished, test } from "vitest";
import { harnessForAll, type Person, Served } from "./fixtures/home.ts";

const harness = harnessForAll(`
tool_rules:
  - { name: narrow, condition: { lacks_scopes: true }, verdict: blocked, reason: no scope }
  - { name: question, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: strangers, condition: { agent: "unverified:*" }, verdict: blocked, reason: not known }
  - { name: rest, condition: {}, verdict: allowed }
tools:
  ls: { scopes: [write] }
`);

async function ahp({ address }: Served, { secret: token }: Person, agentId: string, sessionId: string) {
  const auth = { method: { type: "bearer", token } } as const;
  const client = await AhpClient.connect(
    { type: "http", url: `${address}/ahp`, auth },
    { agentId, sessionId },
  );
  onTestFinished(() => client.close());
  await client.handshake(["pre_action"]);
  return client;
}

const ls = { tool_name: "ls", arguments: {} };

/** The reasons of the blocks that a session left in the ledger. */
async function blocksOf(served: Served, session: string): Promise<string[]> {
  const { ledger, supervisor } = served.harness;
  await supervisor.close();
  const entries = await ledger.read({ quality: "policy_verdict", limit: 1_000 });
  return entries.flatMap(({ entry: { payload } }) => {
    const { subject, verdict, reason } = Object(payload);
    return subject?.session === session && verdict === "blocked" ? [String(reason)] : [];
  });
}

describe("a sub-agent", () => {
  async function delegated() {
    const served = await Served.open(harness());
    const ann = await served.person();
    const session = `root of ${ann.id}`;
    const parent = await ahp(served, ann, "coder", session);
    const earlier = await ahp(served, ann, "coder", `earlier of ${ann.id}`);
    expect(await earlier.sendEvent("pre_action", ls)).toMatchObject({ decision: "allow" });
    expect(await parent.sendEvent("pre_action", ls)).toMatchObject({ decision: "allow" });
    const { answer } = await parent.query("delegate", {
      ...{ child_agent: "scout", task: "look around", scopes: ["read"] },
    });
    return { served, ann, parent, earlier, session, child: Object(answer) };
  }

  test.each([
    ["its own name in a session of its own", "scout", "fresh"],
    ["its parent's name in a session of its own", "coder", "fresh"],
    ["an unknown name", "zzz", "fresh"],
    ["its own name in its parent's session", "scout", "root"],
    ["its own name in a session that was there before", "scout", "earlier"],
    ["the name of its delegated session", "scout", "child"],
  ])("without its session_token that gives %s is blocked and recorded", async (_, agent, where) => {
    const { served, ann, session, child } = await delegated();
    const sessions: Record<string, string> = {
      ...{ fresh: `fresh of ${ann.id}`, root: session, earlier: `earlier of ${ann.id}` },
      child: child.session_id,
    };
    const named = sessions[where] ?? "";
    const client = await ahp(served, ann, agent, named);
    const decision = await client.sendEvent("pre_action", ls);
    expect(decision).toMatchObject({
      decision: "block",
      reason: expect.stringContaining("session_token"),
    });
    expect(await blocksOf(served, named)).toEqual([expect.stringContaining("session_token")]);
  });

  test("does not change its parent or existing sessions", async () => {
    const { parent, earlier } = await delegated();
    for (const client of [parent, earlier])
      expect(await client.sendEvent("pre_action", ls)).toMatchObject({ decision: "allow" });
  });

  test("with its session_token has only the scopes that were delegated", async () => {
    const { served, ann, child } = await delegated();
    const client = await ahp(served, ann, "scout", "whatever");
    const event = { ...{ event_type: "pre_action" as const, session_id: "whatever", agent_id: "scout" } };
    const metadata = { session_token: child.session_token };
    const decision = await client.sendEvent({
      ...{ ...event, timestamp: new Date().toISOString(), depth: 1, payload: ls, metadata },
    });
    expect(decision).toMatchObject({ decision: "block", reason: "no scope" });
  });
});

describe("an event is blocked and recorded for", () => {
  test.each<[string, (child: string) => Record<string, unknown>, string]>([
    ["a wrong session_token", () => ({ session_token: "nonsense" }), "session_token"],
    ["a session_token that is no text", () => ({ session_token: 7 }), "session_token"],
    ["an empty session_token", () => ({ session_token: "" }), "session_token"],
    ["the session_token of another principal", (child) => ({ session_token: child }), "session_token"],
    ["the name of another tenant", () => ({ tenant: "acme" }), "another tenant"],
    ["a tenant that is no text", () => ({ tenant: { id: "acme" } }), "another tenant"],
  ])("%s", async (_, metadataOf, why) => {
    const served = await Served.open(harness());
    const [ann, bob] = [await served.person(), await served.person()];
    const owner = await ahp(served, bob, "coder", `of ${bob.id}`);
    const { answer } = await owner.query("delegate", { child_agent: "scout" });
    const session = `s of ${ann.id}`;
    const client = await ahp(served, ann, "coder", session);
    const event = { event_type: "pre_action" as const, session_id: session, agent_id: "coder", depth: 0 };
    const decision = await client.sendEvent({
      ...{ ...event, timestamp: new Date().toISOString(), payload: ls },
      metadata: metadataOf(Object(answer).session_token),
    });
    expect(decision).toMatchObject({ decision: "block", reason: expect.stringContaining(why) });
    expect(await blocksOf(served, session)).toEqual([expect.stringContaining(why)]);
  });
});

test("a query says which member is missing or wrong, and what is expected", async () => {
  const served = await Served.open(harness());
  const client = await ahp(served, await served.person(), "coder", "asks");
  const wrong: readonly [string, unknown, string][] = [
    ["delegate", { task: "no agent" }, "child_agent is missing; it has to be a text"],
    ["delegate", { child_agent: 5 }, "child_agent has to be a text, not a number"],
    ["delegate", { child_agent: "a", scopes: "read" }, "scopes has to be a list, not a text"],
    ["delegate", { child_agent: "a", scopes: [1] }, "scopes.0 has to be a text, not a number"],
    ["delegate", { child_agent: "a", task: {} }, "task has to be a text, not an object"],
    ["delegate", [], "payload has to be an object, not a list"],
    ["budget", { session_token: 1 }, "session_token has to be a text, not a number"],
    ["run", { run_id: [] }, "run_id has to be a text, not a list"],
    ...Object.getOwnPropertyNames(Object.prototype).map(
      (child_agent) =>
        ["delegate", { child_agent }, "child_agent is a name that every object has"] as const satisfies [
          string,
          unknown,
          string,
        ],
    ),
  ];
  for (const [query, payload, why] of wrong)
    await expect(client.query(query, payload), JSON.stringify(payload)).rejects.toThrow(
      `the query "${query}" cannot be answered: ${why}`,
    );
});

describe("a token for one agent alone", () => {
  test("makes its holder that agent under any claimed name, and records the claim", async () => {
    const served = await Served.open(harness());
    const { identity, ledger, supervisor } = served.harness;
    const { id: user } = await identity.addUser({
      ...{ id: "reed-owner", name: "R", email: "r@example.com", roles: [], scopes: ["*"] },
    });
    const token = await identity.createToken({ user, kind: "agent", agents: ["coder"] });
    const client = await ahp(served, token, "agent-5f0c91", "its-session");
    expect(await client.sendEvent("pre_action", ls)).toMatchObject({ decision: "allow" });
    await supervisor.close();
    const entry = (await ledger.read({ quality: "policy_verdict", limit: 1_000 })).at(-1);
    expect(entry?.entry.payload).toMatchObject({
      subject: { agent: "coder", claimed_agent: "agent-5f0c91", trust: "registered" },
    });
    const event = {
      event_type: "pre_action" as const,
      session_id: "another-session",
      agent_id: "x",
      depth: 0,
    };
    const payload = { tool_name: "deploy", arguments: {} };
    const asked = await client.sendEvent({ ...event, timestamp: new Date().toISOString(), payload });
    expect(asked).toMatchObject({ decision: "escalate" });
    const approval = Object(asked).escalation_target;
    expect(await client.query("approval", { approval })).toMatchObject({
      answer: { escalation_target: approval, state: "pending" },
    });
    expect(Object((await client.query("approval", {})).answer).approvals).toHaveLength(1);
  });

  test("does not authenticate a sub-agent, which needs its own token", async () => {
    const served = await Served.open(harness());
    const { identity } = served.harness;
    const { id: user } = await identity.addUser({
      ...{ id: "delegating", name: "D", email: "d@example.com", roles: [], scopes: ["*"] },
    });
    const token = await identity.createToken({ user, kind: "agent", agents: ["coder"] });
    const parent = await ahp(served, token, "coder", "delegating-session");
    expect(await parent.sendEvent("pre_action", ls)).toMatchObject({ decision: "allow" });
    const begun = await parent.query("delegate", {
      ...{ child_agent: "scout", task: "look around", scopes: ["read"] },
    });
    expect(Object(begun.answer)).toHaveProperty("session_token");
    const child = await ahp(served, token, "scout", "delegating-session");
    expect(await child.sendEvent("pre_action", ls)).toMatchObject({
      decision: "block",
      reason: expect.stringContaining("may be a sub-agent"),
    });
    expect(await parent.sendEvent("pre_action", ls)).toMatchObject({ decision: "allow" });
  });

  test("cannot see approvals of other agents of its user", async () => {
    const served = await Served.open(harness());
    const { identity } = served.harness;
    const { id: user } = await identity.addUser({
      ...{ id: "two-agents", name: "T", email: "t@example.com", roles: [], scopes: ["*"] },
    });
    const [one, other] = [
      await identity.createToken({ user, kind: "agent", agents: ["coder"] }),
      await identity.createToken({ user, kind: "agent", agents: ["writer"] }),
    ];
    const asks = await ahp(served, one, "a", "one");
    const asked = await asks.sendEvent("pre_action", { tool_name: "deploy", arguments: {} });
    const looks = await ahp(served, other, "b", "other");
    const { answer } = await looks.query("approval", { approval: Object(asked).escalation_target });
    expect(answer).toBeNull();
    expect(Object((await looks.query("approval", {})).answer).approvals).toEqual([]);
  });
});
