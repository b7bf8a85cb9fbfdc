import { type JsonObject, membersOf } from "@reins/acp";
import { change } from "@reins/store";
import { describe, expect, test } from "vitest";
import { TURN_OVER, turnsOf } from "../src/sessions/session.ts";
import { sessionTables } from "../src/sessions/tables.ts";
import { govern, UNASKED } from "./fixtures/governed.ts";
import { openTestHome } from "./fixtures/home.ts";
import { openTestHub } from "./fixtures/hub.ts";

const ALL = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n";
const LONG = "x".repeat(1_100_000);

describe("what would make an entry too large", () => {
  test.each<[string, JsonObject]>([
    ["arguments", { rawInput: { command: "make", description: LONG } }],
    ["a title", { title: LONG }],
    ["an id", { toolCallId: LONG }],
  ])("is recorded for a call without permission: %s", async (_, more) => {
    const governed = await govern();
    const id = await governed.begin();
    await governed.prompt(id, async ({ update }) => {
      await update({ ...UNASKED, ...more });
      return undefined;
    });
    const [call] = await governed.entries("tool_call");
    expect(call?.tags).toContain("ungated");
    expect(JSON.stringify(call)).toContain("truncated: 1100000 characters");
    expect(JSON.stringify(call)).toContain('"command":"make"');
    expect(await governed.entries("tool_result")).toHaveLength(1);
    expect(await governed.entries("turn")).toHaveLength(1);
    expect(governed.faults).toEqual([]);
  });

  test("does not keep the end of a session off the record: many open calls with long names", async () => {
    const governed = await govern({ home: await openTestHome({ rules: ALL }) });
    const id = await governed.begin();
    await governed.prompt(id, async ({ ask }) => {
      for (let index = 0; index < 400; index += 1)
        await ask({ toolCallId: `c${index}`, name: `x${"y".repeat(3_000)}`, rawInput: { a: 1 } });
      return undefined;
    });
    await governed.call("session/close", { sessionId: id });
    const ends = await governed.entries("session_lifecycle");
    expect(ends.map(({ tags }) => tags[0])).toEqual(["session_start", "session_end"]);
    expect(ends.at(-1)?.payload).toMatchObject({ unfinished: { truncated: { count: 400 } } });
  }, 60_000);
});

test("a turn of too many entries that only the log has, and one that no ledger takes, stop neither Reins nor each other", async () => {
  const home = await openTestHome({ rules: ALL });
  const { harness } = home;
  const first = await openTestHub(home);
  const client = await first.connect();
  const begin = async () => {
    const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
    await client.prompt(String(sessionId), "say one");
    return String(sessionId);
  };
  const ids = [await begin(), await begin()];
  const { log } = first.hub;
  await log.flush();
  const records = await first.hub.list(client.connection.principal);
  const cids = Array.from({ length: 20_000 }, (_, index) => index.toString(16).padStart(64, "0"));
  const stale: object[] = [];
  for (const [index, id] of ids.entries()) {
    const [over] = (await log.page("default", [turnsOf(id)], 0)).filter(
      ({ message }) => message.method === TURN_OVER,
    );
    const turn_after = log.last("default");
    const concluded = membersOf(membersOf(over?.message.params).draft);
    const draft = {
      ...concluded,
      ...(index === 0 && { actor: "" }),
      tags: [`turn:late-${index}`, "end_turn"],
      payload: { ...membersOf(concluded.payload), entries: cids },
    };
    await log.append({
      tenant: "default",
      session: turnsOf(id),
      message: { method: TURN_OVER, params: { draft } },
    });
    const record = records.find((one) => one.id === id) ?? expect.fail("the session is not listed");
    stale.push({ ...record, state: "running", last_activity: new Date().toISOString(), turn_after });
  }
  await first.close();
  for (const record of stale) await harness.store.commit([change(sessionTables, "put", record as never)]);

  const second = await openTestHub(home);
  const turns = (await harness.ledger.read({ quality: "turn", limit: 100 })).map(({ entry }) => entry);
  expect(turns.map(({ tags }) => tags[0])).toContain("turn:late-1");
  expect(turns.at(-1)?.payload).toMatchObject({ entries: { truncated: { count: 20_000 } } });
  expect(second.errors.map(String).join("\n")).toContain(`the session ${ids[0]} could not be recovered`);
}, 60_000);
