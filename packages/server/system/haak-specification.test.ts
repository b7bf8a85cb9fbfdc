import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@reins/kit";
import {
  call,
  hold,
  reply,
  type Script,
  ScriptedModel,
  say,
  scene,
  scenes,
  think,
} from "@reins/scripted-model";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answered, ofType, saidIn, serveHaak } from "./fixtures/haak.ts";

const MINUTE = 60_000;
const waiting: (() => void)[] = [];
const ends: (() => Promise<void>)[] = [];
let shift = 0;
let model: ScriptedModel;
let serving: Awaited<ReturnType<typeof serveHaak>>;
let client: Awaited<ReturnType<typeof serving.connect>>;
let count = 0;

/** Uses a tool, and says what came of it. */
const use = (word: string, tool: string, input: Readonly<Record<string, unknown>>) =>
  scene(word, reply(call(tool, input)), reply(say("used")));

const known = scenes(
  scene("think", reply(think("hm"), say("thought"))),
  use("read the notes", "read_file", { path: "notes.txt" }),
  use("read nothing", "read_file", { path: "nothing.txt" }),
  use("read outside", "read_file", { path: "../../../etc/passwd" }),
  use("list text files", "list_files", { pattern: "*.txt" }),
  use("search for heather", "search", { query: "heather" }),
  use("search for gold", "search", { query: "gold-and-silver" }),
  scene(
    "write to oneself",
    reply(call("send_message", { to: "reed", subject: "s", body: "a letter to oneself" })),
    reply(call("read_mailbox", {})),
    reply(say("read")),
  ),
  use("spawn without a word", "spawn_subagent", {}),
  use("post a note", "post_board", { content: "the mill is closed" }),
  use("look at the board", "read_board", { lines: 5 }),
  use("use what is not there", "teleport", {}),
);

/** What the test wrote, and one that answers when it is let go. */
const script: Script = (conversation) => {
  const last = conversation.items.findLast(({ role }) => role === "user");
  const word = /wait (\w+)/.exec(last?.text ?? "")?.[1];
  if (word === undefined) return known(conversation);
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(resolve);
  return reply(say("begun "), hold(promise), say(word));
};

beforeAll(async () => {
  model = await ScriptedModel.listen({ script });
  serving = await serveHaak({
    environment: { ANTHROPIC_API_KEY: model.endpoint.key, ANTHROPIC_BASE_URL: model.endpoint.url },
    runner: {
      backend: "native",
      clock: { ...systemClock, now: () => new Date(Date.now() + shift) },
    },
    onEnd: (end) => void ends.push(end),
  });
  await writeFile(join(serving.workspace, "notes.txt"), "the word is heather\n");
  await writeFile(join(serving.harness.home, "board.md"), "the ferry runs\n");
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
  await model.close();
});

const init = async (agent_id: string, more: object = {}) => {
  client = await serving.connect();
  count += 1;
  const session_key = `${agent_id}:spec:${count}`;
  const { result } = await client.ask("session.init", { agent_id, session_key, ...more });
  return { session_key, session_id: String(result?.session_id), result };
};
const run = (session_key: string, message: unknown, more: object = {}) =>
  client.ask("turn.run", { session_key, message, ...more });
const state = async (session_key: string) =>
  (await client.ask("session.status", { session_key })).result?.state;
const row = async (session_key: string, of = "") =>
  Object((await serving.served.ask("GET", `/v1/haak/sessions/${encodeURIComponent(session_key)}${of}`)).body);
const evict = async (minutes: number) => {
  shift = minutes * MINUTE;
  await serving.runner.eviction.check().finally(() => {
    shift = 0;
  });
};
const letGo = () => {
  for (const resolve of waiting.splice(0)) resolve();
};
const placeOf = ({ events }: Answered, type: string) => events.findIndex((event) => event.type === type);
/** The last request to the model. */
const told = () => {
  const { system, items } = model.requests.at(-1)?.conversation ?? { system: "", items: [] };
  return [system, ...items.map(({ text }) => text)].join("\n");
};

describe("Runtime types", () => {
  test("RuntimeEvent field verification", async () => {
    const { session_key } = await init("coder");
    const turn = await run(session_key, "read the notes");
    const fields = new Map(
      turn.events.map(({ type, seq: _, ...event }) => [type, Object.keys(event).sort()]),
    );
    expect(fields.get("text_delta")).toEqual(["text"]);
    expect(fields.get("tool_call")).toEqual(["id", "input", "name"]);
    expect(fields.get("tool_result")).toEqual(["content", "id", "is_error"]);
    expect(fields.get("policy_gate")).toEqual(["constitution_hash", "reason", "rule", "tool", "verdict"]);
    expect(fields.get("ledger_append")).toEqual(["cid", "quality"]);
    expect(fields.get("done")).toEqual(["stop_reason", "usage"]);
    expect(turn.events.every(({ seq }) => Number.isSafeInteger(seq))).toBe(true);
  });

  test("thinking is a reasoning_delta", async () => {
    const { session_key } = await init("coder");
    const turn = await run(session_key, "think");
    expect(saidIn(turn)).toBe("thought");
    expect(ofType(turn, "reasoning_delta").map(({ text }) => text)).toContain("hm");
  });

  test("Message content deserialization (string shorthand and array of blocks)", async () => {
    const { session_key } = await init("coder");
    const text = { type: "text", text: "read the notes" };
    const shapes: readonly object[] = [
      { message: "read the notes" },
      { message: { role: "user", content: "read the notes" } },
      { message: { role: "user", content: [text] } },
      { messages: [{ role: "user", content: "read the notes" }] },
      { messages: [{ role: "user", content: [text] }] },
    ];
    for (const shape of shapes)
      expect(saidIn(await client.ask("turn.run", { session_key, ...shape }))).toBe("used");
  });
});

describe("Constitutional runtime", () => {
  const tools = ["bash", "read_file"].map((name) => ({ name, input_schema: { type: "object" } }));

  test("blocked tools not passed to inner runtime", async () => {
    const { session_key } = await init("stranger");
    const turn = await run(session_key, "hello", { tools });
    expect(ofType(turn, "policy_gate").map(({ tool, verdict }) => [tool, verdict])).toEqual([
      ["bash", "blocked"],
      ["read_file", "allowed"],
    ]);
    expect(model.requests.at(-1)?.conversation.tools.map(({ name }) => name)).toEqual(["read_file"]);
  });

  test("no tools, or an empty list of them, are the agent's own", async () => {
    const { session_key } = await init("stranger");
    await run(session_key, "hello", { tools });
    for (const more of [{}, { tools: [] }]) {
      await run(session_key, "hello", more);
      const offered = model.requests.at(-1)?.conversation.tools.map(({ name }) => name);
      expect(offered).toEqual(expect.arrayContaining(["read_file", "list_files", "search", "read_board"]));
      expect(offered).not.toContain("bash");
    }
  });

  test("PolicyGate events emitted before TextDelta", async () => {
    const { session_key } = await init("stranger");
    const turn = await run(session_key, "hello", { tools });
    expect(placeOf(turn, "policy_gate")).toBeGreaterThanOrEqual(0);
    expect(placeOf(turn, "policy_gate")).toBeLessThan(placeOf(turn, "text_delta"));
  });

  test("system prompt prepended", async () => {
    const { session_key } = await init("reed");
    await run(session_key, "hello to you");
    const all = told();
    expect(all.indexOf("Trust level: standing")).toBeGreaterThanOrEqual(0);
    expect(all.indexOf("Trust level: standing")).toBeLessThan(all.indexOf("hello to you"));
  });

  test("mailbox injection events before text", async () => {
    const { session_key } = await init("reed");
    const letter = { id: "spec", from: "coder", to: "reed", subject: "rain", body: "it comes tonight" };
    await appendFile(join(serving.harness.home, "agent-mailbox.jsonl"), `${JSON.stringify(letter)}\n`);
    const turn = await run(session_key, "hello");
    expect(turn.events[placeOf(turn, "mailbox_injected")]).toMatchObject({ from: "coder", subject: "rain" });
    expect(placeOf(turn, "mailbox_injected")).toBeLessThan(placeOf(turn, "text_delta"));
    expect(told()).toContain("it comes tonight");
  });
});

describe("Manifest", () => {
  test("unknown agents get default mandate", async () => {
    const { session_key, result } = await init("stranger");
    await run(session_key, "hello");
    expect(result?.trust).toBe("unknown");
    expect(told()).toContain("You are a stranger here.");
  });

  test("standing agents recognized", async () => {
    expect((await init("reed")).result?.trust).toBe("standing");
  });

  test("dead agents become unknown", async () => {
    expect((await init("ghost")).result?.trust).toBe("unknown");
  });

  test("system prompt contains constitution hash, mandate, board excerpt, trust level, available tools list", async () => {
    const { session_key } = await init("reed");
    await run(session_key, "hello");
    const hash = serving.harness.policies.inForce.get("default")?.hashes.constitution_hash;
    const parts = [`[constitution: ${hash}]`, "You are the keeper of the reeds.", "the ferry runs"];
    for (const part of [...parts, "Trust level: standing", "- read_file"]) expect(told()).toContain(part);
  });
});

describe("Session", () => {
  test("ensure_session creates and caches", async () => {
    const { session_key, session_id } = await init("coder");
    const again = await client.ask("session.init", { agent_id: "coder", session_key });
    expect(again.result).toMatchObject({ session_key, session_id });
  });

  test("run_turn yields events and Done", async () => {
    const { session_key } = await init("coder");
    const turn = await run(session_key, "hello");
    expect(ofType(turn, "text_delta").length).toBeGreaterThan(0);
    expect(turn.events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });
  });

  test("cached runtime reused across turns", async () => {
    const { session_key, session_id } = await init("coder");
    await run(session_key, "hello");
    const agent = serving.hosting.hub.live(session_id)?.agent;
    await run(session_key, "hello again");
    expect(agent).toBeDefined();
    expect(serving.hosting.hub.live(session_id)?.agent).toBe(agent);
  });

  test("close removes from cache", async () => {
    const { session_key, session_id } = await init("coder");
    await run(session_key, "hello");
    expect((await client.ask("session.close", { session_key })).result).toEqual({ ok: true });
    expect(serving.hosting.hub.live(session_id)).toBeUndefined();
    expect(await row(session_key)).toMatchObject({ id: session_id, state: "closed" });
  });

  test("hash chain integrity (prev_cid populated)", async () => {
    const { session_key } = await init("coder");
    for (const words of ["one", "two", "three"]) await run(session_key, words);
    const { turns } = await row(session_key, "/turns");
    expect(turns.map(({ prev_cid }: { prev_cid: string }) => prev_cid)).toEqual([
      null,
      turns[0].id,
      turns[1].id,
    ]);
    for (const { id, prev_cid } of turns) {
      const placed = await serving.ledger.get(id);
      expect(placed?.entry.parents[0] ?? null).toBe(prev_cid);
    }
  });
});

describe("KeyedQueue", () => {
  test("same-session turns serial", async () => {
    const { session_key } = await init("coder");
    const turns = ["first", "second"].map((word) => run(session_key, `wait ${word}`));
    await client.until(() => client.frames.some(({ event }) => event?.text === "begun "));
    expect(waiting).toHaveLength(1);
    letGo();
    await turns[0];
    await expect.poll(() => waiting).toHaveLength(1);
    letGo();
    expect((await Promise.all(turns)).map(saidIn)).toEqual(["begun first", "begun second"]);
  });

  test("different-session turns concurrent", async () => {
    const one = await init("coder");
    const other = await init("coder");
    const turns = [one, other].map(({ session_key }) => run(session_key, "wait both"));
    await expect.poll(() => waiting).toHaveLength(2);
    letGo();
    expect((await Promise.all(turns)).map(saidIn)).toEqual(["begun both", "begun both"]);
  });

  test("enqueue yields expected events", async () => {
    const { session_key } = await init("coder");
    const turn = await run(session_key, "read the notes");
    const types = turn.events.map(({ type }) => type).filter((type) => !type.endsWith("_update"));
    const told = types.filter((type) => !["ledger_append", "policy_gate"].includes(type));
    expect(told).toEqual(["tool_call", "tool_result", "text_delta", "done"]);
  });
});

describe("Eviction", () => {
  test("idle domain past TTL evicted", async () => {
    const { session_key } = await init("coder");
    await evict(31);
    expect(await state(session_key)).toBe("closed");
    expect(await row(session_key)).toMatchObject({ mode: "domain", close_reason: "idle_evicted" });
  });

  test("recent domain survives", async () => {
    const { session_key } = await init("coder");
    await evict(29);
    expect(await state(session_key)).toBe("idle");
  });

  test("persistent never evicted", async () => {
    const { session_key } = await init("coder", { mode: "persistent" });
    await evict(600);
    expect(await state(session_key)).toBe("idle");
  });

  test("running domain marked for deferred eviction", async () => {
    const { session_key, session_id } = await init("coder");
    const turn = run(session_key, "wait long");
    await expect.poll(() => state(session_key)).toBe("running");
    await evict(31);
    expect(serving.runner.eviction.isMarked(session_id)).toBe(true);
    expect(await state(session_key)).toBe("running");
    await expect.poll(() => waiting).toHaveLength(1);
    letGo();
    expect(saidIn(await turn)).toBe("begun long");
    await expect.poll(() => state(session_key)).toBe("closed");
    expect(await row(session_key)).toMatchObject({ close_reason: "idle_evicted" });
  });
});

describe("Store", () => {
  test("upsert/get roundtrip", async () => {
    const { session_key, session_id } = await init("coder", { mode: "persistent" });
    expect(await row(session_key)).toMatchObject({
      ...{ id: session_id, session_key, agent_id: "coder", backend: "native", mode: "persistent" },
      ...{ state: "idle", pubkey: null, model: expect.any(String), last_activity: expect.any(String) },
    });
  });

  test("missing returns None", async () => {
    expect(await row("missing:spec:0")).toMatchObject({ status: 404 });
  });

  test("upsert idempotent", async () => {
    const { session_key, session_id } = await init("coder");
    await client.ask("session.init", { agent_id: "coder", session_key });
    const { sessions } = Object((await serving.served.ask("GET", "/v1/haak/sessions?limit=500")).body);
    const same = sessions.filter((one: { session_key: string }) => one.session_key === session_key);
    expect(same).toMatchObject([{ id: session_id }]);
  });

  test("append/complete turn", async () => {
    const { session_key, session_id } = await init("coder");
    await run(session_key, "read the notes");
    const { turns } = await row(session_key, "/turns");
    expect(turns).toMatchObject([
      {
        ...{ session_id, seq: 0, prev_cid: null, stop_reason: "end_turn", proof: { type: "attestation" } },
        ...{ input_hash: expect.stringMatching(/^[0-9a-f]{64}$/), output_hash: expect.any(String) },
        usage: expect.objectContaining({
          input_tokens: expect.any(Number),
          output_tokens: expect.any(Number),
        }),
        ...{ started_at: expect.any(String), completed_at: expect.any(String) },
      },
    ]);
    const { history } = await row(session_key, "/history");
    expect(history.map(({ role, seq }: { role: string; seq: number }) => [seq, role])).toEqual([
      [0, "user"],
      [1, "assistant"],
      [2, "user"],
      [3, "assistant"],
    ]);
    expect((await row(session_key)).pubkey).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  });

  test("list_sessions", async () => {
    const { session_key } = await init("coder");
    const { sessions } = Object((await serving.served.ask("GET", "/v1/haak/sessions?limit=1")).body);
    expect(sessions).toMatchObject([{ session_key }]);
  });
});

describe("Tools", () => {
  const result = async (agent: string, message: string) => {
    const { session_key } = await init(agent);
    const [came] = ofType(await run(session_key, message), "tool_result");
    return { content: String(came?.content), is_error: came?.is_error };
  };

  test("read_file returns contents", async () => {
    const { content, is_error } = await result("coder", "read the notes");
    expect([content.includes("the word is heather"), is_error]).toEqual([true, false]);
  });

  test("read_file not-found is error", async () => {
    expect(await result("coder", "read nothing")).toMatchObject({ is_error: true });
  });

  test("read_file path traversal rejected", async () => {
    await result("coder", "read outside");
    expect(told()).toContain("Not done: ../../../etc/passwd is outside of the workspace");
    expect(told()).not.toContain("root:");
  });

  test("list_files with pattern", async () => {
    expect((await result("coder", "list text files")).content).toContain("notes.txt");
  });

  test("search finds content", async () => {
    expect((await result("coder", "search for heather")).content).toContain("notes.txt");
  });

  test("search no matches returns message", async () => {
    const { content, is_error } = await result("coder", "search for gold");
    expect([content.length > 0, content.includes("notes.txt"), is_error]).toEqual([true, false, false]);
  });

  test("send_message/read_mailbox roundtrip", async () => {
    const { session_key } = await init("reed");
    const [, read] = ofType(await run(session_key, "write to oneself"), "tool_result");
    expect(read?.content).toContain("from: reed");
    expect(read?.content).toContain("a letter to oneself");
  });

  test("post_board/read_board", async () => {
    const { session_key } = await init("reed");
    await run(session_key, "post a note");
    const [came] = ofType(await run(session_key, "look at the board"), "tool_result");
    expect(came?.content).toContain("[reed] the mill is closed");
  });

  test("spawn_subagent requires prompt", async () => {
    await result("coder", "spawn without a word");
    expect(told()).toMatch(/Not done: .*prompt/);
  });

  test("unknown tool returns error", async () => {
    await result("coder", "use what is not there");
    expect(told()).toContain("Not done: there is no tool teleport here");
  });
});

test("a remembered fact is recalled where its workspace matches", async () => {
  const content = "the gate to the mill opens at dawn";
  expect((await serving.served.ask("POST", "/v1/memory", { body: { content } })).status).toBe(201);
  const { session_key } = await init("coder");
  await run(session_key, "when does the mill open its gate?");
  expect(told()).toContain(content);
});

describe("Backends", () => {
  test("can be any installed agent that the client names", async () => {
    const { session_key, result } = await init("coder", { backend: "stub" });
    expect(result).toMatchObject({ backend: "stub", agent_id: "coder", trust: "registered" });
    expect(saidIn(await run(session_key, "say I am the stub"))).toBe("I am the stub");
    expect(await row(session_key)).toMatchObject({ backend: "stub", agent_id: "coder" });
  });

  test("that cannot run cause one error event, and the session stays usable", async () => {
    const { session_key, result } = await init("coder", { backend: "claude_code" });
    expect(result).toMatchObject({ backend: "claude" });
    for (let turn = 0; turn < 2; turn += 1) {
      const { events, result: ended } = await run(session_key, "hello");
      expect(events).toMatchObject([{ type: "error", code: "backend_unavailable" }]);
      expect(ended).toEqual({ status: "complete" });
    }
    expect(await state(session_key)).toBe("idle");
  });
});

describe("Server", () => {
  test("session.init returns session_key", async () => {
    client = await serving.connect();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    expect(result?.session_key).toMatch(/^coder:ws:[0-9a-f-]{36}$/);
  });

  test("turn.run streams events ending with done + result", async () => {
    const { session_key } = await init("coder");
    const turn = await run(session_key, "hello");
    expect(turn.events.at(-1)?.type).toBe("done");
    expect(turn.result).toEqual({ status: "complete" });
  });

  test("session.status returns idle after init", async () => {
    const { session_key } = await init("coder");
    expect(await state(session_key)).toBe("idle");
  });
});
