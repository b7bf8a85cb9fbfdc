import { membersOf } from "@reins/acp";
import { change } from "@reins/store";
import { expect, test } from "vitest";
import { TURN_OVER, turnsOf } from "../src/sessions/session.ts";
import { sessionTables } from "../src/sessions/tables.ts";
import { openTestHome } from "./fixtures/home.ts";
import { openTestHub } from "./fixtures/hub.ts";

test("a turn whose end was logged is in the ledger, also if Reins died before it got there, and is not taken for cut off", async () => {
  const home = await openTestHome({
    rules: "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n",
  });
  const { harness } = home;
  const first = await openTestHub(home);
  const client = await first.connect();
  const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
  const id = String(sessionId);
  await client.prompt(id, "say one");
  const turns = async () => harness.ledger.read({ quality: "turn" });
  const [entry] = await turns();
  const { log } = first.hub;
  await log.flush();
  const [over] = (await log.page("default", [turnsOf(id)], 0)).filter(
    ({ message }) => message.method === TURN_OVER,
  );
  expect(membersOf(membersOf(over?.message.params).draft).payload).toEqual(entry?.entry.payload);

  // The same once more, as it is when the process dies between the answer and the ledger.
  const [record] = await first.hub.list(client.connection.principal);
  const turn_after = log.last("default");
  const draft = { ...membersOf(membersOf(over?.message.params).draft), tags: ["turn:second", "end_turn"] };
  await log.append({
    tenant: "default",
    session: turnsOf(id),
    message: { method: TURN_OVER, params: { draft } },
  });
  await first.close();
  if (!record) throw new Error("the session is not listed");
  const last_activity = new Date().toISOString();
  await harness.store.commit([
    change(sessionTables, "put", { ...record, state: "running", last_activity, turn_after }),
  ]);

  const second = await openTestHub(home);
  expect((await turns()).map(({ entry: { tags } }) => tags?.[0])).toEqual([
    expect.any(String),
    "turn:second",
  ]);
  const [listed] = await second.hub.list(client.connection.principal);
  expect(listed).toMatchObject({ id, state: "idle" });
  const said = await second.hub.log.page("default", [id], turn_after);
  expect(said).toEqual([]);
});

test("a turn whose agent is stopped stands in the ledger before the end of its session", async () => {
  const home = await openTestHome({
    rules: "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n",
  });
  const { hub, connect } = await openTestHub(home);
  const client = await connect();
  const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
  const turn = client.prompt(String(sessionId), "say one", "wait").catch(() => undefined);
  await expect.poll(() => client.said).toContain("one");
  const [agent = expect.fail()] = await hub.running();
  await hub.restart(agent, "the test stops it");
  await turn;
  const entries = (await home.harness.ledger.read({ limit: 100 })).map(({ entry }) => entry);
  const kinds = entries.map(({ quality, payload }) => `${quality} ${membersOf(payload).change ?? ""}`.trim());
  expect(kinds.slice(-2)).toEqual(["turn", "session_lifecycle session_end"]);
});

test("turns stand in the ledger one after the other, also when the next waits in line, and before the end of their session", async () => {
  const home = await openTestHome({
    rules: "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n",
  });
  const { connect } = await openTestHub(home);
  const client = await connect();
  const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
  const id = String(sessionId);
  await Promise.all([client.prompt(id, "say one"), client.prompt(id, "say two")]);
  await client.request("session/close", { sessionId: id });
  const entries = (await home.harness.ledger.read({ limit: 100 })).map(({ entry }) => entry);
  const chain = entries.filter(({ entity_id }) => entity_id === entries.at(-1)?.entity_id);
  const kinds = chain.map(({ quality, payload }) => {
    const { event_type, change: what } = membersOf(payload);
    return `${quality} ${event_type ?? what ?? ""}`.trim();
  });
  expect(kinds.slice(-5)).toEqual([
    "policy_verdict pre_prompt",
    "turn",
    "policy_verdict pre_prompt",
    "turn",
    "session_lifecycle session_end",
  ]);
});
