import { describe, expect, test } from "vitest";
import { openTestHome } from "./fixtures/home.ts";
import { openTestHub } from "./fixtures/hub.ts";

async function begun(options: { readonly retentionMs?: number } = {}) {
  const home = await openTestHome({
    rules: "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n",
  });
  // Whatever is not used at this very moment has not been used for long enough.
  const opened = await openTestHub(home, { idleMs: 0, ...options });
  const client = await opened.connect();
  return { home, ...opened, client };
}

describe("an agent that is not used", () => {
  test("is ended, and is back with the next prompt; its session is none the wiser", async () => {
    const { home, hub, client } = await begun();
    const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
    const id = String(sessionId);
    await client.prompt(id, "say one");
    await client.request("_sandboxagent/session/set_metadata", { sessionId: id, metadata: { ticket: 7 } });
    await hub.reap();
    expect(await hub.running()).toEqual([]);
    expect(hub.live(id)).toBeUndefined();
    const [listed] = await hub.list(client.connection.principal);
    expect(listed).toMatchObject({ id, state: "idle", metadata: { ticket: 7 } });
    await client.prompt(id, "say two");
    expect(client.said).toEqual(["one", "two"]);
    expect(await hub.running()).toHaveLength(1);
  });

  test("is left alone while it has something to do", async () => {
    const { home, hub, client } = await begun();
    const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
    const id = String(sessionId);
    const turn = client.prompt(id, "say begun", "wait");
    await expect.poll(() => client.said).toEqual(["begun"]);
    await hub.reap();
    expect(await hub.running()).toHaveLength(1);
    await client.connection.notification("session/cancel", { sessionId: id });
    expect(await turn).toEqual({ stopReason: "cancelled" });
  });
});

test("what is older than the retention time is pruned, and a client that asks for it gets a gap", async () => {
  // Whatever is there is too old already.
  const { home, hub, client } = await begun({ retentionMs: -60_000 });
  const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
  const id = String(sessionId);
  await client.prompt(id, "say one");
  await hub.log.flush();
  const until = hub.log.lastOf("default", id);
  await hub.reap();
  client.got.length = 0;
  await client.request("session/load", { sessionId: id, cwd: home.workspace, mcpServers: [] });
  const params = { sessionId: id, after: 0, until, reason: "retention" };
  expect(client.got).toMatchObject([{ message: { method: "_reins/gap", params } }]);
});
