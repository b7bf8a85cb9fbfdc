import { type JsonObject, membersOf } from "@reins/acp";
import { describe, expect, test } from "vitest";
import { openTestHome } from "./fixtures/home.ts";
import { openTestHub, type TestClient } from "./fixtures/hub.ts";

async function begun(agent = "stub") {
  const home = await openTestHome({
    rules: `
tool_rules:
  - { name: begin, condition: { event: [session_start, pre_prompt] }, verdict: allowed }
  - { name: looks, condition: { harmless: true }, verdict: allowed }
  - { name: rest, condition: {}, verdict: ask, reason: people decide }`,
  });
  const opened = await openTestHub(home);
  const client = await opened.connect({ agent });
  const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
  return { home, ...opened, client, id: String(sessionId) };
}

const orders = ({ got }: TestClient) => got.flatMap(({ order }) => (order === undefined ? [] : [order]));

/** The notifications of turns that a client received, in order. */
const turnsOf = ({ got }: TestClient) =>
  got.flatMap(({ message: { method, params } }) => {
    const { state, stopReason } = membersOf(params);
    return method === "_reins/session/turn" ? [[state, stopReason].filter(Boolean).join(" ")] : [];
  });

describe("a session", () => {
  test("is seen by every client of it, each message once and in order, the answer after what was said", async () => {
    const { client, connect, id } = await begun();
    const other = await connect();
    await other.request("session/resume", { sessionId: id });
    const answer = await client.prompt(id, "say one", "burst 500", "say two");
    expect(answer).toEqual({ stopReason: "end_turn" });
    expect(client.said).toHaveLength(502);
    expect([client.said[0], client.said.at(-1)]).toEqual(["one", "two"]);
    await expect.poll(() => other.said).toEqual(client.said);
    expect(orders(other)).toEqual(orders(other).toSorted((left, right) => left - right));
    const prompts = (seen: TestClient) => JSON.stringify(seen.got).includes("user_message_chunk");
    expect([prompts(client), prompts(other)]).toEqual([false, true]);
  });

  test("shows a prompt that has a name to its own client too, when its turn has come", async () => {
    const { client, id } = await begun();
    const prompt = [{ type: "text", text: "say one" }];
    await client.request("session/prompt", { sessionId: id, prompt, _meta: { reins: { prompt: "mine" } } });
    const [first] = client.got.map(({ message }) => membersOf(membersOf(message.params).update));
    expect(first).toMatchObject({
      sessionUpdate: "user_message_chunk",
      content: { text: "say one" },
      _meta: { reins: { prompt: "mine" } },
    });
    expect(client.said).toEqual(["one"]);
  });

  test("can be joined later: a load tells everything that was", async () => {
    const {
      client,
      connect,
      id,
      home: { workspace },
    } = await begun();
    await client.prompt(id, "say one");
    await client.prompt(id, "say two");
    const late = await connect();
    await late.request("session/load", { sessionId: id, cwd: workspace, mcpServers: [] });
    expect(late.said).toEqual(["one", "two"]);
    await client.prompt(id, "say three");
    await expect.poll(() => late.said).toEqual(["one", "two", "three"]);
  });

  test("tells those who asked for it when the turns of others begin and end, and how things stand when they come", async () => {
    const {
      client,
      connect,
      hub,
      id,
      home: { workspace },
    } = await begun();
    const hearing = async (method: string) => {
      const subscriber = await connect();
      await subscriber.request("initialize", { protocolVersion: 1, _meta: { reins: { turns: true } } });
      await subscriber.request(method, { sessionId: id, cwd: workspace, mcpServers: [] });
      return subscriber;
    };
    await client.prompt(id, "say without subscribers");
    const [other, plain] = [await hearing("session/resume"), await connect()];
    await plain.request("session/resume", { sessionId: id });
    const turn = client.prompt(id, "run npm test");
    await expect.poll(() => client.asked).toHaveLength(1);
    const late = await hearing("session/load");
    await expect.poll(() => turnsOf(late)).toEqual(["running", "running"]);
    const answer = { outcome: { outcome: "selected", optionId: "allow_once" } };
    expect(client.connection.answer(client.asked[0]?.id as string, answer)).toBe("first");
    await turn;
    await expect.poll(() => turnsOf(other)).toEqual(["idle", "running", "idle end_turn"]);
    await expect.poll(() => turnsOf(late).at(-1)).toBe("idle end_turn");
    const last = other.got.at(-1)?.message;
    expect([last?.method, other.said]).toEqual(["_reins/session/turn", ["yes"]]);
    await other.prompt(id, "say mine");
    await expect.poll(() => turnsOf(late)).toHaveLength(5);
    expect([turnsOf(other).length, turnsOf(client), turnsOf(plain)]).toEqual([3, [], []]);

    for (const { connection } of [other, late]) hub.disconnect(connection);
    const before = hub.log.last("default");
    await client.prompt(id, "say without subscribers");
    const written = await hub.log.page("default", [id], before);
    expect(written.map(({ message }) => message.method)).toEqual(["session/update", "session/update"]);
  });

  test("can be read after it has ended, and that starts no agent", async () => {
    const { client, connect, id, hub } = await begun();
    await client.prompt(id, "say one");
    await client.request("_sandboxagent/session/terminate", { sessionId: id });
    const late = await connect();
    await expect(late.request("session/load", { sessionId: id })).rejects.toThrow("there is no session");
    await late.request("_reins/session/replay", { sessionId: id });
    expect(late.said).toEqual(["one"]);
    expect(hub.live(id)?.agent).toBeUndefined();
    const found = await hub.find(late.connection.principal, id);
    expect(found?.ended).toMatchObject({ reason: "terminated" });
    await expect(late.prompt(id, "say two")).rejects.toThrow("there is no session");
  });

  test("keeps one turn at a time, eight more in line, and tells the next one so", async () => {
    const { client, id } = await begun();
    const running = client.prompt(id, "wait");
    const waiting = Array.from({ length: 8 }, (_, n) => client.prompt(id, `say ${n}`));
    await expect(client.prompt(id, "say too much")).rejects.toThrow("8 prompts wait already");
    await expect.poll(() => client.connection.sessions).toContain(id);
    await expect
      .poll(async () => {
        await client.connection.notification("session/cancel", { sessionId: id });
        // Long enough for a busy machine: a second cancel would reach the next turn.
        return Promise.race([running, new Promise((resolve) => setTimeout(() => resolve(undefined), 5_000))]);
      })
      .toEqual({ stopReason: "cancelled" });
    await Promise.all(waiting);
    expect(client.said).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
  });
});

describe("a question", () => {
  test("goes to every client; the first answer counts, and it is cancelled at the others", async () => {
    const { client, connect, id } = await begun();
    const other = await connect();
    await other.request("session/resume", { sessionId: id });
    const turn = client.prompt(id, "run npm test");
    await expect.poll(() => [client.asked.length, other.asked.length]).toEqual([1, 1]);
    const [question] = other.asked;
    const answer = { outcome: { outcome: "selected", optionId: "allow_once" } };
    expect(other.connection.answer(question?.id as string, answer)).toBe("first");
    await turn;
    expect(client.said).toEqual(["yes"]);
    expect(client.connection.answer(client.asked[0]?.id as string, answer)).toBe("late");
    expect(JSON.stringify(client.got)).toContain("$/cancel_request");
    expect(client.connection.answer("reins-99", answer)).toBe("unknown");
  });

  test("waits while no client is attached, and is put to the next one", async () => {
    const {
      hub,
      client,
      connect,
      id,
      home: { workspace },
    } = await begun();
    const turn = client.prompt(id, "run npm test").catch(() => undefined);
    await expect.poll(() => client.asked.length).toBe(1);
    hub.disconnect(client.connection);
    const later = await connect();
    await later.request("session/load", { sessionId: id, cwd: workspace, mcpServers: [] });
    expect(later.asked).toHaveLength(1);
    later.connection.answer(later.asked[0]?.id as string, {
      outcome: { outcome: "selected", optionId: "reject_once" },
    });
    await turn;
    await expect.poll(() => later.said).toEqual(["no"]);
  });
});

describe("an agent that dies", () => {
  test("fails its turn at once with how it ended, and is back with the next prompt", async () => {
    const { home, client, id } = await begun();
    await client.prompt(id, "say one");
    await expect(client.prompt(id, "crash")).rejects.toThrow("ended with code 3");
    await client.prompt(id, "say two");
    expect(client.said).toEqual(["one", "two"]);
    const turns = await home.entries("turn");
    expect(turns.map(({ payload }) => (payload as JsonObject).stop_reason)).toEqual([
      "end_turn",
      "interrupted",
      "end_turn",
    ]);
  });

  test("just before a prompt fails that prompt or is back for it, and no client sees it as cancelled", async () => {
    const { hub, client, id } = await begun();
    await client.prompt(id, "say one");
    for (const running of await hub.running()) process.kill(running.process?.pid ?? 0, "SIGKILL");
    const outcome = await client.prompt(id, "say two").then(
      ({ stopReason }) => stopReason,
      (error: Error) => error.message,
    );
    expect(outcome).toMatch(/^end_turn$|ended/);
    await client.prompt(id, "say three");
    expect(client.said.at(-1)).toBe("three");
  });

  test("because nothing was heard of it fails its turn too, and is back with the next prompt", async () => {
    const home = await openTestHome();
    const { connect } = await openTestHub(home, { idleTimeouts: { answerMs: 60_000, turnMs: 500 } });
    const client = await connect();
    const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
    const id = String(sessionId);
    await expect(client.prompt(id, "wait")).rejects.toThrow("The stub stub has said nothing for 0.5 s");
    await client.prompt(id, "say here again");
    expect(client.said.at(-1)).toBe("here again");
  });

  test("and cannot resume its session gets what was said", async () => {
    const { client, id } = await begun("forgetful");
    await client.prompt(id, "say the word is heather");
    await expect(client.prompt(id, "crash")).rejects.toThrow("ended");
    await client.prompt(id, "hear");
    expect(client.said.at(-1)).toContain("You: the word is heather");
  });
});

test("a client that comes back gets what it missed, once, and nothing else", async () => {
  const { hub, client, connect, id } = await begun();
  await client.prompt(id, "say one");
  const from = { epoch: hub.log.epoch, order: client.connection.position };
  hub.disconnect(client.connection);
  const between = await connect();
  await between.request("session/resume", { sessionId: id });
  await between.prompt(id, "say two");
  const back = await connect({ from });
  const session = hub.live(id);
  if (!session) throw new Error("the session is gone");
  back.connection.attach(session);
  await expect.poll(() => back.said).toEqual(["two"]);
});

test("sessions are their principal's and their tenant's: others see nothing", async () => {
  const { home, hub, connect, id } = await begun();
  const { identity } = home.harness;
  await identity.addUser({
    id: "eve",
    name: "Eve",
    email: "person@example.com",
    tenant: "acme",
    roles: ["admin"],
    scopes: ["*"],
  });
  await identity.addUser({ id: "bob", name: "Bob", email: "person@example.com", roles: [], scopes: ["*"] });
  const tokens = [
    await identity.createToken({ user: "eve", tenant: "acme" }),
    await identity.createToken({ user: "bob" }),
  ];
  for (const { secret } of tokens) {
    const principal = await identity.authenticate(secret);
    if (!principal) throw new Error("not known");
    const stranger = await connect({ principal });
    await expect(stranger.request("session/load", { sessionId: id, cwd: "/" })).rejects.toThrow(
      "there is no session",
    );
    await expect(stranger.prompt(id, "say hello")).rejects.toThrow("there is no session");
    expect(await hub.list(principal)).toEqual([]);
  }
});
