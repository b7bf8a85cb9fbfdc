import { describe, expect, expectTypeOf, test } from "vitest";
import { type Script, ScriptedTransport } from "../../test/messages.ts";
import { AhpError } from "../errors.ts";
import type { ConfirmationDecision, ContextPerceptionDecision, Decision } from "../protocol/decisions.ts";
import type { BlockingEventType } from "../protocol/event.ts";
import { AhpClient, type ClientOptions, type FullEvent } from "./client.ts";

const WELCOME = {
  protocol_version: "2.4",
  harness_info: { name: "h", version: "1", capabilities: [] },
  config: { batch_size: 2 },
};

/** A client past its handshake; the script answers what comes after. */
async function shaken(script: Script, options: ClientOptions = {}) {
  const transport = new ScriptedTransport((request) =>
    request.method === "ahp/handshake" ? result(request.id, WELCOME) : script(request),
  );
  const client = new AhpClient(transport, { sessionId: "session", agentId: "agent", ...options });
  await client.handshake(["pre_action"]);
  transport.sent.length = 0;
  return { client, transport };
}

function result(id: string, value: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result: value });
}

const answering =
  (value: unknown): Script =>
  (request) =>
    result(request.id, value);

describe("handshake", () => {
  test("must come before events, batches and queries", async () => {
    const client = new AhpClient(new ScriptedTransport(() => new Error("nothing may be sent")));
    const gate = "Protocol error: Handshake must complete before sending AHP operations";
    await expect(client.sendEvent("pre_action", {})).rejects.toThrow(gate);
    await expect(client.sendNotification("post_action", {})).rejects.toThrow(gate);
    await expect(client.batch([])).rejects.toThrow(gate);
    await expect(client.query("q", {})).rejects.toThrow(gate);
  });

  test("says who the agent is and what it can do, in upstream's form", async () => {
    const transport = new ScriptedTransport((request) => result(request.id, WELCOME));
    const client = new AhpClient(transport, {
      framework: "mine",
      version: "7",
      sessionId: "s",
      agentId: "a",
      newId: () => "id-1",
    });
    await client.handshake(["pre_action"]);
    expect(transport.sent).toEqual([
      '{"jsonrpc":"2.0","id":"id-1","method":"ahp/handshake","params":{"agent_id":"a","agent_info":{"capabilities":["pre_action"],"framework":"mine","version":"7"},"protocol_version":"2.4","session_id":"s"}}',
    ]);
    expect(client.harness?.harness_info.name).toBe("h");
  });

  test("accepts an older harness of the same major and refuses another major", async () => {
    const greet = (protocol_version: string) =>
      new AhpClient(
        new ScriptedTransport(({ id }) => result(id, { ...WELCOME, protocol_version })),
      ).handshake([]);
    await expect(greet("2.0")).resolves.toMatchObject({ protocol_version: "2.0" });
    await expect(greet("9.9")).rejects.toThrow("Handshake failed: the harness speaks version 9.9");
  });

  test("passes the session token on to the transport", async () => {
    const transport = new ScriptedTransport(({ id }) => result(id, { ...WELCOME, session_token: "t" }));
    await new AhpClient(transport).handshake([]);
    expect(transport.sessionToken).toBe("t");
  });

  test("gives errors with what the harness said", async () => {
    const refusal = { code: -32000, message: "Unsupported protocol version: 2.4", data: { reason: "old" } };
    const transport = new ScriptedTransport(({ id }) =>
      JSON.stringify({ jsonrpc: "2.0", id, error: refusal }),
    );
    const error = await new AhpClient(transport).handshake([]).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AhpError);
    expect(error).toMatchObject({
      code: "protocol",
      message: "Protocol error: Handshake failed: Unsupported protocol version: 2.4",
      rpc: refusal,
    });
  });
});

describe("events", () => {
  test("blocking ones are requests that give the decision of their family", async () => {
    const { client, transport } = await shaken(answering({ decision: "approve" }));
    const payload = { session_id: "s", confirmation_type: "user_confirm", message: "sure?" } as const;
    const decision = await client.sendEvent("confirmation", payload);
    expectTypeOf(decision).toEqualTypeOf<ConfirmationDecision>();
    expect(decision).toEqual({ decision: "approve" });
    expect(JSON.parse(transport.sent[0]!)).toMatchObject({
      method: "ahp/event",
      params: { event_type: "confirmation", session_id: "session", agent_id: "agent", depth: 0, payload },
    });
  });

  test("others are sent as notifications", async () => {
    const { client, transport } = await shaken(() => new Error("no request may be sent"));
    await client.sendNotification("post_action", { status: "ok" });
    expect(JSON.parse(transport.sent[0]!)).not.toHaveProperty("id");
  });

  test("an event sent the wrong way is rejected before anything is sent", async () => {
    const { client, transport } = await shaken(() => new Error("no request may be sent"));
    const note: string = "post_action";
    await expect(client.sendEvent(note as "pre_action", {})).rejects.toThrow("use sendNotification");
    const question: string = "pre_action";
    await expect(client.sendNotification(question as "post_action", {})).rejects.toThrow("use sendEvent");
    expect(transport.sent).toEqual([]);
  });

  test("the type of the decision follows from the type of the event", async () => {
    const { client } = await shaken(answering({ decision: "allow", injected_context: { facts: [] } }));
    const perceived = client.sendEvent("context_perception", {
      session_id: "s",
      intent: "understand",
      target: { location: { path: ".", location_type: "workspace" } },
      context: { workspace: "." },
    });
    expectTypeOf(perceived).toEqualTypeOf<Promise<ContextPerceptionDecision>>();
    expectTypeOf(client.sendEvent("pre_action", {})).toEqualTypeOf<Promise<Decision>>();
    expect(await perceived).toEqual({ decision: "allow", injected_context: { facts: [] } });
  });

  test("full events go out exactly as given", async () => {
    const { client, transport } = await shaken(answering({ decision: "allow", extra: 1 }));
    const event: FullEvent<"pre_action"> = {
      event_type: "pre_action",
      session_id: "another",
      agent_id: "other-agent",
      timestamp: "then",
      depth: 3,
      payload: { tool_name: "bash" },
      context: {
        current_task: "t",
        session_stats: { total_actions: 3, total_tokens: 42, duration_ms: 1, error_count: 0 },
      },
      metadata: { k: "v" },
    };
    expect(await client.sendEvent(event)).toEqual({ decision: "allow" });
    expect(await client.sendEvent(event, { asReceived: true })).toEqual({ decision: "allow", extra: 1 });
    for (const text of transport.sent) expect(JSON.parse(text).params).toEqual(event);
  });
});

describe("failing closed", () => {
  const CLOSED: Record<BlockingEventType, string> = {
    pre_action: "block",
    pre_prompt: "block",
    handshake: "block",
    query: "block",
    idle: "defer",
    context_perception: "block",
    memory_recall: "block",
    planning: "block",
    reasoning: "block",
    rate_limit: "skip",
    confirmation: "reject",
    intent_detection: "block",
  };
  const silence: Script = () => AhpError.timeout(5);

  test.each(Object.entries(CLOSED))("%s without an answer gets %s", async (type, decision) => {
    const { client } = await shaken(silence);
    const event: FullEvent<BlockingEventType> = {
      ...client.event("pre_action", {}),
      event_type: type as BlockingEventType,
    };
    expect(await client.sendEvent(event)).toEqual({ decision, reason: "Timeout after 5ms" });
    expect(await client.sendEvent(event, { asReceived: true })).toEqual({
      decision,
      reason: "Timeout after 5ms",
    });
  });

  test.each<[string, Script, string]>([
    ["a broken connection", () => AhpError.closed(), "Connection closed"],
    [
      "an error",
      ({ id }) => JSON.stringify({ jsonrpc: "2.0", id, error: { code: -1, message: "no" } }),
      "Protocol error: Event failed: no",
    ],
    [
      "an error beside a result",
      ({ id }) =>
        JSON.stringify({
          jsonrpc: "2.0",
          id,
          result: { decision: "allow" },
          error: { code: -1, message: "no" },
        }),
      "Protocol error: Event failed: no",
    ],
    [
      "no result",
      ({ id }) => JSON.stringify({ jsonrpc: "2.0", id, result: null }),
      "Protocol error: Event failed: missing result",
    ],
    [
      "another version",
      ({ id }) => JSON.stringify({ jsonrpc: "1.0", id, result: { decision: "allow" } }),
      "Protocol error: Event failed: invalid JSON-RPC version 1.0",
    ],
    ["another id", () => result("other", { decision: "allow" }), "response id mismatch, expected"],
    ["no decision", answering({}), "Serialization error: missing field `decision`"],
    ["an unknown decision", answering({ decision: "sure" }), "Serialization error: unknown variant `sure`"],
    [
      "a decision said twice",
      ({ id }) =>
        `{"jsonrpc":"2.0","id":"${id}","result":{"decision":"block","reason":"r","decision":"allow"}}`,
      "the response names a key twice",
    ],
  ])("%s blocks", async (_, script, reason) => {
    const failures: AhpError[] = [];
    const { client } = await shaken(script, { onFailClosed: (error) => failures.push(error) });
    const decision = await client.sendEvent("pre_action", {});
    expect(decision).toEqual({ decision: "block", reason: expect.stringContaining(reason) });
    expect(failures).toHaveLength(1);
  });

  test("throws instead when configured to", async () => {
    const { client } = await shaken(silence, { onFailure: "throw" });
    await expect(client.sendEvent("pre_action", {})).rejects.toThrow("Timeout after 5ms");
    await expect(client.batch([client.event("pre_action", {})])).rejects.toThrow("Timeout after 5ms");
  });

  test("an abort is the caller's own and rejects with its reason", async () => {
    const stop = new AbortController();
    const { client } = await shaken(() => {
      stop.abort(new Error("changed my mind"));
      return new Promise((_, reject) => reject(stop.signal.reason));
    });
    await expect(client.sendEvent("pre_action", {}, { signal: stop.signal })).rejects.toThrow(
      "changed my mind",
    );
  });

  test("what cannot be written is the caller's mistake", async () => {
    const { client, transport } = await shaken(answering({ decision: "allow" }));
    await expect(client.sendEvent("pre_action", { tool: () => {} })).rejects.toThrow(
      "Serialization error: a function",
    );
    expect(transport.sent).toEqual([]);
  });
});

describe("batches", () => {
  const allowAll: Script = ({ id, params }) => {
    const { events } = params as { events: { payload: { n: number } }[] };
    return result(id, {
      decisions: events.map(({ payload }) => ({ decision: "block", reason: `${payload.n}` })),
    });
  };

  test("keep their order and respect the harness's size", async () => {
    const { client, transport } = await shaken(allowAll);
    const events = [1, 2, 3, 4, 5].map((n) => client.event("pre_action", { n }));
    const decisions = await client.batch(events);
    expect(decisions.map((decision) => decision.decision === "block" && decision.reason)).toEqual([
      "1",
      "2",
      "3",
      "4",
      "5",
    ]);
    expect(transport.sent.map((text) => JSON.parse(text).params.events.length)).toEqual([2, 2, 1]);
  });

  test("may be empty", async () => {
    const { client, transport } = await shaken(allowAll);
    expect(await client.batch([])).toEqual([]);
    expect(transport.sent).toHaveLength(1);
  });

  test("refuse events that need another decision, before anything is sent", async () => {
    const { client, transport } = await shaken(allowAll);
    const idle = client.event("idle", { idle_duration_ms: 1, idle_reason: "r" });
    await expect(client.batch([client.event("pre_action", {}), idle])).rejects.toThrow(
      "Protocol error: Batch failed: event type idle cannot be batched because it does not return a generic Decision",
    );
    expect(transport.sent).toEqual([]);
  });

  test("block every event when the count does not match", async () => {
    const { client } = await shaken(answering({ decisions: [{ decision: "allow" }] }));
    const reason = "Protocol error: Batch failed: decision count mismatch, expected 2, got 1";
    const events = [client.event("pre_action", {}), client.event("pre_prompt", {})];
    expect(await client.batch(events)).toEqual([
      { decision: "block", reason },
      { decision: "block", reason },
    ]);
  });
});

test("queries give their answer and throw their errors", async () => {
  const { client, transport } = await shaken(answering({ answer: null, alternatives: ["x"] }));
  expect(await client.query("which", { of: 2 })).toEqual({ answer: null, alternatives: ["x"] });
  expect(JSON.parse(transport.sent[0]!).params).toEqual({
    session_id: "session",
    agent_id: "agent",
    query_type: "which",
    payload: { of: 2 },
  });
});

test("each call has its own time or the client's", async () => {
  const { client, transport } = await shaken(answering({ decision: "allow" }), { timeoutMs: 1234 });
  await client.sendEvent("pre_action", {});
  await client.sendEvent("pre_action", {}, { timeoutMs: 5 });
  expect(transport.options.map(({ timeoutMs }) => timeoutMs).slice(-2)).toEqual([1234, 5]);
});
