import { rm } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AgentHome, openAgentHome } from "./fixtures/agent-home.ts";
import { serveAgents } from "./fixtures/agents.ts";
import type { Served } from "./fixtures/home.ts";
import { promptOf, RpcClient } from "./fixtures/rpc-client.ts";

/** A home that can be closed and opened again. */
async function restartable() {
  let home: AgentHome | undefined;
  let base: string | undefined;
  const start = async () => {
    home = await openAgentHome(base === undefined ? {} : { base });
    base = home.base;
    return { home, served: await serveAgents(home) };
  };
  const stop = async ({ gateway }: Served) => {
    await gateway.close();
    await home?.close();
    home = undefined;
  };
  onTestFinished(async () => {
    await home?.close();
    if (base !== undefined) await rm(base, { recursive: true, force: true });
  });
  return { start, stop };
}

/** The same client, of a server that was started again. */
function backAt(served: Served, { connection, as }: RpcClient): RpcClient {
  const client = new RpcClient(served, as);
  client.connection = connection;
  return client;
}

describe("after a restart", () => {
  test("a connection resumes after its last event without gap or repeat", async () => {
    const { start, stop } = await restartable();
    const { home, served } = await start();
    const client = await RpcClient.open(served);
    const id = await client.begin(home.workspace, "stub", { title: "Kept" });
    const stream = await client.stream();
    await client.prompt(id, "say one", "say two");
    await expect.poll(() => stream.said).toEqual(["one", "two"]);
    await stop(served);
    await stream.ended;
    const again = await start();
    const back = backAt(again.served, client);
    const after = await back.stream({ "last-event-id": String(stream.ids[0]) });
    expect(after.status).toBe(200);
    await expect.poll(() => after.said).toEqual(["two"]);
    expect(await back.prompt(id, "say three")).toMatchObject({
      status: 200,
      body: { result: { stopReason: "end_turn" } },
    });
    await expect.poll(() => after.said).toEqual(["two", "three"]);
    expect(await back.result("_sandboxagent/session/get", { sessionId: id })).toMatchObject({
      title: "Kept",
      ended: false,
    });
    const { body } = await again.served.ask("GET", `/v1/sessions/${id}`);
    expect(body).toMatchObject({ state: "idle", event_count: 5 });
  });

  test("a client that subscribed to turns of other clients still gets them", async () => {
    const { start, stop } = await restartable();
    const { home, served } = await start();
    const client = await RpcClient.open(served);
    const id = await client.begin(home.workspace);
    const subscriber = await RpcClient.open(served, { reins: { turns: true } });
    await subscriber.result("session/resume", { sessionId: id, cwd: home.workspace });
    await stop(served);
    const again = await start();
    const stream = await backAt(again.served, subscriber).stream();
    const states = () =>
      stream.got.flatMap(({ message: { method, params } }) =>
        method === "_reins/session/turn" ? [Object(params).state] : [],
      );
    await expect.poll(states).toEqual(["idle", "idle"]);
    await backAt(again.served, client).prompt(id, "say one");
    await expect.poll(states).toEqual(["idle", "idle", "running", "idle"]);
  });

  test("a removed connection stays removed, and one of another principal stays inaccessible", async () => {
    const { start, stop } = await restartable();
    const { served } = await start();
    const [ended, kept] = [await RpcClient.open(served), await RpcClient.open(served)];
    const neighbour = await served.person();
    await ended.delete();
    await stop(served);
    const again = await start();
    expect((await backAt(again.served, ended).request("session/list")).status).toBe(404);
    const thief = backAt(again.served, { ...kept, as: neighbour.secret } as RpcClient);
    expect((await thief.request("session/list")).status).toBe(403);
    expect((await backAt(again.served, kept).request("session/list")).status).toBe(200);
  });

  test("a request whose response was due on the stream is answered as interrupted", async () => {
    const { start, stop } = await restartable();
    const { home, served } = await start();
    const client = await RpcClient.open(served);
    const id = await client.begin(home.workspace);
    const body = { jsonrpc: "2.0", id: "cut", method: "session/prompt" };
    const params = { sessionId: id, prompt: promptOf(["say begun", "wait"]) };
    const stream = await client.stream();
    expect((await client.post({ ...body, params }, { prefer: "respond-async" })).status).toBe(202);
    await expect.poll(() => stream.said).toEqual(["begun"]);
    await stop(served);
    const again = await start();
    const after = await backAt(again.served, client).stream({ "last-event-id": String(stream.ids.at(-1)) });
    await expect.poll(() => after.messages.filter(({ id: of }) => of === "cut")).toHaveLength(1);
    expect(after.messages.find(({ id: of }) => of === "cut")).toMatchObject({ jsonrpc: "2.0" });
  });

  test("a session that ended before is reported as ended", async () => {
    const { start, stop } = await restartable();
    const { home, served } = await start();
    const [client, other] = [await RpcClient.open(served), await RpcClient.open(served)];
    const id = await client.begin(home.workspace);
    await other.result("_sandboxagent/session/terminate", { sessionId: id });
    await stop(served);
    const again = await start();
    const stream = await backAt(again.served, client).stream();
    await expect.poll(() => stream.messages).toMatchObject([{ method: "_sandboxagent/session/ended" }]);
    expect(await backAt(again.served, client).prompt(id, "say hello")).toMatchObject({
      body: { error: { code: -32002 } },
    });
  });
});
