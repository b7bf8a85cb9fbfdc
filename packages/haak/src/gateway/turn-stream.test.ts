import type { JsonObject } from "@reins/acp";
import { type LoggedEvent, TURN_OVER, turnsOf } from "@reins/host";
import type { PlacedEntry } from "@reins/ledger";
import { describe, expect, test } from "vitest";
import type { HaakEvent } from "./protocol.ts";
import { UpdateEvents } from "./turn-events.ts";
import { LedgerTail, TurnStream, type TurnStreamOptions } from "./turn-stream.ts";

type Quality = PlacedEntry["entry"]["quality"];

/** A chain of entries that a test appends to. */
function newLedger() {
  const placed: PlacedEntry[] = [];
  const append = (quality: Quality, payload: JsonObject = {}) => {
    const seq = placed.length;
    const entry: PlacedEntry["entry"] = {
      ...{ cid: `cid-${seq}`, entity_id: "chain", target: "bash", quality, payload },
      ...{ timestamp: "2026-01-02T03:04:05Z", source: "chain", actor: "coder", parents: [], tags: [] },
      ...{ proof: null, envelope: null },
    };
    placed.push({ seq, entry });
  };
  const read: ConstructorParameters<typeof LedgerTail>[0]["read"] = async ({
    after = -1,
    limit,
    order,
  } = {}) =>
    (order === "newest" ? placed.toReversed() : placed.filter(({ seq }) => seq > after)).slice(0, limit);
  return { append, read };
}

describe("the ledger entries of a turn", () => {
  async function newTail() {
    const ledger = newLedger();
    const tail = new LedgerTail(ledger, "chain");
    const read = async (...earlier: string[]) =>
      (await tail.read(new Set(earlier))).map(({ quality, cid }) => `${quality} ${cid}`);
    return { ...ledger, tail, readNew: read };
  }

  test("start after the entries that exist and end with the turn's own", async () => {
    const { append, tail, readNew } = await newTail();
    append("policy_verdict");
    await tail.seekEnd();
    expect(await readNew()).toEqual([]);
    append("policy_verdict");
    expect(await readNew()).toEqual(["policy_verdict cid-1"]);
    append("turn", { turn: "mine" });
    append("policy_verdict");
    expect(await readNew()).toEqual(["turn cid-2"]);
    append("policy_verdict");
    expect(await readNew()).toEqual([]);
  });

  test("leave out those of an earlier turn that is recorded late", async () => {
    const { append, readNew } = await newTail();
    append("tool_result");
    append("turn", { turn: "earlier" });
    append("policy_verdict");
    expect(await readNew("earlier")).toEqual(["policy_verdict cid-2"]);
  });

  test("are read across pages", async () => {
    const { append, readNew } = await newTail();
    for (let count = 0; count < 450; count += 1) append("tool_call");
    append("turn", { turn: "mine" });
    append("tool_call");
    const entries = await readNew();
    expect([entries.length, entries.at(-1)]).toEqual([451, "turn cid-450"]);
  });
});

/** A stream on a log that the test feeds. */
async function newStream(more: Partial<TurnStreamOptions> = {}) {
  const ledger = newLedger();
  const events: HaakEvent[] = [];
  const begins: string[] = [];
  const failed: unknown[] = [];
  let feed: (event: LoggedEvent) => void | Promise<void> = () => undefined;
  let order = 0;
  const channels: string[] = [];
  const options: TurnStreamOptions = {
    session: { id: "s1", tenant: "default" },
    connection: {
      id: "mine",
      fail: (id, error) => {
        failed.push([id, error]);
        return "unknown";
      },
    },
    log: {
      end: async () => ({ epoch: 1, order: 0 }),
      written: async () => undefined,
      last: () => order,
      subscribe: (subscriber) => {
        feed = subscriber.event;
        return { add: (channel) => void channels.push(channel), reached: async () => {}, close: () => {} };
      },
    },
    updates: new UpdateEvents({ toolNames: { members: [], aliases: [], kinds: {} } }),
    tail: new LedgerTail(ledger, "chain"),
    recorded: async () => undefined,
    settled: async () => undefined,
    emit: (event) => void events.push(event),
    onBegin: () => void begins.push("begun"),
    ...more,
  };
  const stream = new TurnStream(options);
  await stream.open();
  const log = (message: JsonObject, rest: Partial<LoggedEvent> = {}) => {
    order += 1;
    return feed({ tenant: "default", session: "s1", message, order, epoch: 1, at: 0, ...rest });
  };
  const update = (sessionUpdate: string, members: object, rest: Partial<LoggedEvent> = {}) =>
    log(
      { method: "session/update", params: { sessionId: "s1", update: { sessionUpdate, ...members } } },
      rest,
    );
  const prompt = (client: string) => update("user_message_chunk", { content: {} }, { except: client });
  const say = (text: string) => update("agent_message_chunk", { content: { type: "text", text } });
  const over = (turn: string) =>
    log({ method: TURN_OVER, params: { draft: { payload: { turn } } } }, { session: turnsOf("s1") });
  const types = () => events.map(({ type }) => type);
  return { stream, ledger, events, types, begins, failed, channels, log, update, prompt, say, over };
}

describe("the stream of a turn", () => {
  test("has only what is said between its own prompt and its end", async () => {
    const { events, prompt, say, over, begins, channels, stream } = await newStream();
    expect(channels).toEqual(["s1", turnsOf("s1")]);
    await prompt("another");
    await say("of another turn");
    await over("another");
    await prompt("mine");
    await say("mine");
    await over("mine");
    await prompt("a third");
    await say("of a third turn");
    await stream.drained();
    expect(events).toEqual([{ type: "text_delta", text: "mine" }]);
    expect(begins).toEqual(["begun"]);
  });

  test("ends with the prompt of another client if its own end is not logged", async () => {
    const { events, prompt, say } = await newStream();
    await prompt("mine");
    await prompt("another");
    await say("of another turn");
    expect(events).toEqual([]);
  });

  test("ignores a prompt that the agent repeats", async () => {
    const { update, begins } = await newStream();
    await update("user_message_chunk", { content: { type: "text", text: "again" } });
    expect(begins).toEqual([]);
  });

  test("has the verdicts on its tools first, and a verdict before the call it allows", async () => {
    const { stream, ledger, types, prompt, update, say } = await newStream();
    const gate = { tool: "bash", verdict: "allowed", reason: "", constitution_hash: null };
    stream.gated([{ ...gate, rule: undefined }]);
    await prompt("mine");
    await say("hm");
    ledger.append("policy_verdict", { event_type: "pre_action", verdict: "allowed", reason: "" });
    await update("tool_call", { toolCallId: "c1", title: "bash" });
    await stream.drained();
    expect(types()).toEqual(["policy_gate", "text_delta", "policy_gate", "ledger_append", "tool_call"]);
  });

  test("reads the ledger once before text, and again before every other event", async () => {
    const reads: string[] = [];
    const { prompt, say, update } = await newStream({
      recorded: async () => void reads.push("recorded"),
      settled: async () => void reads.push("settled"),
    });
    reads.length = 0;
    await prompt("mine");
    await say("a");
    await say("b");
    expect(reads).toEqual(["recorded"]);
    await update("usage_update", { used: 1, size: 2 });
    expect(reads).toEqual(["recorded", "recorded", "settled"]);
  });

  test("announces the call of a permission request, and fails every other request", async () => {
    const { events, prompt, log, failed } = await newStream();
    await prompt("mine");
    const toolCall = { toolCallId: "c1", rawInput: { command: "ls" } };
    await log({ method: "session/request_permission", params: { toolCall } }, { request: "q1" });
    expect(events).toMatchObject([{ type: "tool_call", id: "c1", input: { command: "ls" } }]);
    await log({ method: "elicitation/create", params: {} }, { request: "q2" });
    expect(failed).toEqual([
      ["reins-q2", { code: -32601, message: '"elicitation/create" is not known here' }],
    ]);
  });

  test("waits for a receiver that pushes back, and keeps the order", async () => {
    const received: string[] = [];
    const gates: (() => void)[] = [];
    const { stream, prompt, say } = await newStream({
      emit: ({ type }) => {
        received.push(type);
        return new Promise<void>((resolve) => gates.push(resolve));
      },
    });
    const gate = { verdict: "allowed", reason: "", constitution_hash: null, rule: "r" };
    stream.gated([
      { ...gate, tool: "a" },
      { ...gate, tool: "b" },
    ]);
    await prompt("mine");
    const said = Promise.resolve(say("hi"));
    for (const count of [1, 2, 3]) {
      await expect.poll(() => received.length).toBe(count);
      gates.at(-1)?.();
    }
    await said;
    expect(received).toEqual(["policy_gate", "policy_gate", "text_delta"]);
  });
});
