import { readdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { openTestHome } from "./fixtures/home.ts";
import { openTestHub } from "./fixtures/hub.ts";

/** A hub that gives every agent back at once that is not used at the moment, and a session in it. */
async function begun(_meta = {}, agent = "stub") {
  const home = await openTestHome({
    rules: "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n",
  });
  const opened = await openTestHub(home, { idleMs: 0 });
  const client = await opened.connect({ agent });
  const begin = { cwd: home.workspace, mcpServers: [], _meta };
  const { sessionId } = await client.request("session/new", begin);
  return { home, ...opened, client, id: String(sessionId) };
}

const TERMINATE = "_sandboxagent/session/terminate";

describe("a session that has ended", () => {
  test("carries out no prompt that still waited in line", async () => {
    const { hub, client, id } = await begun();
    const running = client.prompt(id, "say begun", "wait").catch(() => undefined);
    await expect.poll(() => client.said).toEqual(["begun"]);
    const waiting = client.prompt(id, "say too late");
    const refused = expect(waiting).rejects.toThrow("there is no session");
    await client.request(TERMINATE, { sessionId: id });
    await Promise.all([running, refused]);
    expect(client.said).toEqual(["begun"]);
    expect(await hub.find(client.connection.principal, id)).toMatchObject({ state: "closed", ended: {} });
  });

  test("does not come back with the agent that was being started for it", async () => {
    const { hub, client, id } = await begun();
    await hub.reap();
    const prompt = client.prompt(id, "say too late");
    const refused = expect(prompt).rejects.toThrow("there is no session");
    await expect.poll(() => hub.live(id)?.phase === "resuming", { interval: 1 }).toBe(true);
    await client.request(TERMINATE, { sessionId: id });
    await refused;
    expect(client.said).toEqual([]);
    const { principal } = client.connection;
    expect(await hub.find(principal, id)).toMatchObject({ state: "closed", ended: {} });
    const [agent] = await hub.running();
    expect(agent?.governor.session(id)).toBeUndefined();
  });

  test("does not come back by what the agent says that was taking it up", async () => {
    const { hub, client, id } = await begun({}, "hesitant");
    await hub.reap();
    const refused = expect(client.prompt(id, "say too late")).rejects.toThrow("there is no session");
    const isAsked = async () => (await hub.running())[0]?.governor.session(id) !== undefined;
    await expect.poll(isAsked).toBe(true);
    await client.request(TERMINATE, { sessionId: id });
    await refused;
    expect(hub.live(id)).toBeUndefined();
    expect(await hub.find(client.connection.principal, id)).toMatchObject({ state: "closed", ended: {} });
    const [agent] = await hub.running();
    expect(agent?.governor.session(id)).toBeUndefined();
  });

  test("has had its one turn, if it is for one", async () => {
    const { client, id } = await begun({ reins: { mode: "oneshot" } });
    const [first, second] = await Promise.allSettled([
      client.prompt(id, "say the one"),
      client.prompt(id, "say another"),
    ]);
    expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
    expect(client.said).toEqual(["the one"]);
  });

  test("can be reopened while a client reads it", async () => {
    const { hub, client, id } = await begun();
    await client.request(TERMINATE, { sessionId: id });
    await client.request("_reins/session/replay", { sessionId: id });
    const { principal } = client.connection;
    expect(await hub.reopen(principal, id)).toMatchObject({ state: "idle", ended: undefined });
    await client.prompt(id, "say here again");
    expect(client.said).toEqual(["here again"]);
  });
});

describe("a request that is taken back", () => {
  test("is answered at once, also while it waits in line, and leaves its place to others", async () => {
    const { client, id } = await begun();
    const running = client.prompt(id, "say begun", "wait");
    await expect.poll(() => client.said).toEqual(["begun"]);
    const takenBack = new AbortController();
    const prompt = [{ type: "text", text: "say never" }];
    const waiting = client.request("session/prompt", { sessionId: id, prompt }, takenBack.signal);
    const others = Array.from({ length: 7 }, (_, n) => client.prompt(id, `say ${n}`));
    takenBack.abort(new Error("taken back"));
    await expect(waiting).rejects.toThrow("taken back");
    const last = client.prompt(id, "say 7");
    await client.connection.notification("session/cancel", { sessionId: id });
    await Promise.all([running, ...others, last]);
    expect(client.said).toEqual(["begun", "0", "1", "2", "3", "4", "5", "6", "7"]);
  });

  test("leaves the agent that is being started to the other requests that wait for it", async () => {
    const { home, hub, client, connect, id } = await begun();
    await hub.reap();
    const other = await connect();
    const takenBack = new AbortController();
    const load = { sessionId: id, cwd: home.workspace, mcpServers: [] };
    const first = client.request("session/load", load, takenBack.signal);
    await expect.poll(() => hub.live(id)?.phase === "resuming", { interval: 1 }).toBe(true);
    const second = other.request("session/load", load);
    takenBack.abort(new Error("taken back"));
    await expect(first).rejects.toThrow("taken back");
    expect(await second).toEqual({});
  });
});

test("a turn that waits for its agent to be started is cancelled like any other", async () => {
  const { hub, client, id } = await begun();
  await hub.reap();
  const turn = client.prompt(id, "say never");
  await expect.poll(() => hub.live(id)?.phase === "resuming", { interval: 1 }).toBe(true);
  await client.connection.notification("session/cancel", { sessionId: id });
  expect(await turn).toEqual({ stopReason: "cancelled" });
  await client.prompt(id, "say next");
  expect(client.said).toEqual(["next"]);
});

test("what one client of a session sets, the others are notified of, and only they", async () => {
  const { home, client, connect, id } = await begun();
  const other = await connect();
  await other.request("session/load", { sessionId: id, cwd: home.workspace, mcpServers: [] });
  await client.request("session/set_mode", { sessionId: id, modeId: "ask" });
  const set = { sessionUpdate: "current_mode_update", currentModeId: "ask" };
  await expect.poll(() => other.updates).toContainEqual(set);
  expect(client.updates).not.toContainEqual(set);
});

test("what is open is closed in order though an agent cannot be stopped", async () => {
  const { home, hub, close } = await begun();
  const [agent] = await hub.running();
  if (!agent) throw new Error("no agent runs");
  const { stop } = agent;
  const failing = async (reason: string) => {
    await stop(reason);
    throw new Error("its home cannot be written to");
  };
  Object.assign(agent, { stop: failing });
  await close();
  expect((await readdir(home.home)).filter((name) => name.endsWith(".journal"))).toEqual([]);
});

test("a session that stays awake between turns still does after its agent was given back", async () => {
  const { home, hub, client, id } = await begun({ reins: { daemon: true } });
  await hub.reap();
  await client.prompt(id, "say one");
  const { principal } = client.connection;
  expect(await hub.find(principal, id)).toMatchObject({ daemon: true });
  await hub.reap();
  expect(await hub.find(principal, id)).toMatchObject({ daemon: true });
  const load = { sessionId: id, cwd: home.workspace, mcpServers: [] };
  await client.request("session/load", { ...load, _meta: { reins: { daemon: false } } });
  expect(await hub.find(principal, id)).toMatchObject({ daemon: false });
});
