import { describe, expect, test } from "vitest";
import { ask, eventOf, handshakeOf, request } from "../../test/messages.ts";
import { AhpError } from "../errors.ts";
import type { AhpEvent, BlockingEventType } from "../protocol/event.ts";
import type { DecisionFor } from "../protocol/families.ts";
import { type EventCall, type Handlers, memoryPeer } from "./handlers.ts";
import { AhpServer } from "./server.ts";

const allow = { event: () => ({ decision: "allow" as const }) };

/** A decision of each family that says yes. */
const YES: { readonly [Type in BlockingEventType]: DecisionFor<Type> } = {
  pre_action: { decision: "allow", metadata: { by: "test" } },
  pre_prompt: { decision: "modify", modified_payload: null },
  handshake: { decision: "allow" },
  query: { decision: "allow" },
  idle: { decision: "allow" },
  context_perception: { decision: "allow", injected_context: { facts: [] } },
  memory_recall: { decision: "allow", injected_facts: [{ content: "c", source: "s", confidence: 0.5 }] },
  planning: { decision: "allow", selected_strategy: { custom: "mine" } },
  reasoning: { decision: "allow", hints: ["h"] },
  rate_limit: { decision: "queue" },
  confirmation: { decision: "approve" },
  intent_detection: { decision: "allow", detected_intent: "locate", confidence: 0.25 },
};

const everyFamily: Handlers = {
  event: ({ event_type }) => (event_type === "pre_prompt" ? YES.pre_prompt : YES.pre_action),
  idle: () => YES.idle,
  context_perception: () => YES.context_perception,
  memory_recall: () => YES.memory_recall,
  planning: () => YES.planning,
  reasoning: () => YES.reasoning,
  rate_limit: () => YES.rate_limit,
  confirmation: () => YES.confirmation,
  intent_detection: () => YES.intent_detection,
};

describe("the decision of a handler is the answer", () => {
  const { handshake: _h, query: _q, ...decisions } = YES;

  test.each(Object.entries(decisions))("%s: %j", async (type, decision) => {
    const server = new AhpServer(everyFamily);
    const reply = await ask(server, "ahp/event", eventOf(type as BlockingEventType));
    expect(reply.result).toEqual(decision);
  });

  test.each(["handshake", "query"] as const)("%s as an event goes to the generic handler", async (type) => {
    const server = new AhpServer(everyFamily);
    expect((await ask(server, "ahp/event", eventOf(type))).result).toEqual(YES.pre_action);
  });
});

describe("a handler gets", () => {
  /** What the handler of `context_perception` was called with. */
  async function told(event: object, text?: string): Promise<{ payload: unknown; call: EventCall }> {
    const calls: { payload: unknown; call: EventCall }[] = [];
    const server = new AhpServer({
      ...allow,
      context_perception(payload, call) {
        calls.push({ payload, call });
        return YES.context_perception;
      },
    });
    await server.handleMessage(text ?? request("ahp/event", event));
    const [call] = calls;
    if (!call) throw new Error("the handler did not run");
    return call;
  }

  test("the payload as its type, with defaults and without strangers", async () => {
    const event = eventOf("context_perception");
    const payload = { ...Object(event.payload), stranger: 1, constraints: { max_results: null } };
    expect(await told({ ...event, payload })).toMatchObject({
      payload: {
        domain: "general",
        urgency: "normal",
        constraints: { max_results: null, max_context_length: null, include_sources: true },
      },
    });
    expect((await told({ ...event, payload })).payload).not.toHaveProperty("stranger");
  });

  test("the whole event, its payload untouched", async () => {
    const event = { ...eventOf("context_perception", { depth: 2, metadata: { m: 1 } }), stranger: 1 };
    const { call } = await told(event);
    const { stranger: _, ...known } = event;
    expect(call.event).toEqual(known);
  });

  test("the event's context, or an empty one", async () => {
    const context = { current_task: "t", recent_facts: null };
    expect((await told({ ...eventOf("context_perception"), context })).call.context).toEqual({
      current_task: "t",
    });
    expect((await told(eventOf("context_perception"))).call.context).toEqual({});
  });

  test("the message exactly as it came", async () => {
    const text = ` ${request("ahp/event", { ...eventOf("context_perception"), "x-trace": 1.0 })}\n`;
    expect((await told({}, text)).call.text).toBe(text);
  });

  test("who sent it, and what the handshake settled", async () => {
    const seen: Pick<EventCall, "peer" | "session">[] = [];
    const server = new AhpServer({
      event(_, { peer, session }) {
        seen.push({ peer, session });
        return { decision: "allow" };
      },
    });
    const peer = memoryPeer();
    await ask(server, "ahp/event", eventOf("pre_action"), peer);
    await ask(server, "ahp/handshake", handshakeOf(), peer);
    await ask(server, "ahp/event", eventOf("pre_action"), peer);
    await ask(server, "ahp/batch", { events: [eventOf("pre_action")] }, peer);
    const session = expect.objectContaining({ session_id: "s", agent_id: "a", protocol_version: "2.4" });
    expect(seen).toEqual([
      { peer, session: undefined },
      { peer, session },
      { peer, session },
    ]);
  });
});

test("handlers may be methods of an object that remembers", async () => {
  class Counting implements Handlers {
    #seen = 0;
    event() {
      this.#seen += 1;
      return { decision: "block" as const, reason: `event ${this.#seen}` };
    }
    notification() {
      this.#seen += 1;
    }
    confirmation() {
      this.#seen += 1;
      return { decision: "reject" as const, reason: `event ${this.#seen}` };
    }
    query() {
      this.#seen += 1;
      return { answer: this.#seen };
    }
  }
  const server = new AhpServer(new Counting());
  await server.handleMessage(request("ahp/event", eventOf("post_action"), null));
  const question = { session_id: "s", agent_id: "a", query_type: "t", payload: null };
  expect(await ask(server, "ahp/event", eventOf("confirmation"))).toMatchObject({
    result: { reason: "event 2" },
  });
  expect(await ask(server, "ahp/query", question)).toMatchObject({ result: { answer: 3 } });
  expect(await ask(server, "ahp/event", eventOf("pre_action"))).toMatchObject({
    result: { reason: "event 4" },
  });
  const { result } = await ask(server, "ahp/batch", { events: [eventOf("pre_action")] });
  expect(result).toEqual({ decisions: [{ decision: "block", reason: "event 5" }] });
});

describe("a handler that fails", () => {
  const failures: [string, unknown, string][] = [
    [
      "with an error of this package",
      new AhpError("unsupported", "not here"),
      "Capability not supported: not here",
    ],
    ["with any error", new TypeError("x is undefined"), "x is undefined"],
    ["with a text", "no", "no"],
    ["with half a character", new Error("\ud800"), "\ufffd"],
    ["with nothing", undefined, "undefined"],
    ["with something that has no text", Object.create(null), "a value without a text was thrown"],
  ];

  test.each(failures)("%s, at once", async (_, thrown, text) => {
    const server = new AhpServer({
      event() {
        throw thrown;
      },
    });
    expect((await ask(server, "ahp/event", eventOf("pre_action"))).error).toEqual({
      code: -32603,
      message: `Handler error: ${text}`,
      data: { reason: "handler_failed" },
    });
  });

  test.each(failures)("%s, later", async (_, thrown, text) => {
    const server = new AhpServer({ ...allow, idle: () => Promise.reject(thrown) });
    const { error } = await ask(server, "ahp/event", eventOf("idle"));
    expect(error?.message).toBe(`Handler error: ${text}`);
  });

  test.each(failures)("%s, in a batch: costs its own event a block", async (_, thrown, text) => {
    const server = new AhpServer({
      event({ event_type }: AhpEvent) {
        if (event_type === "pre_prompt") throw thrown;
        return { decision: "allow" };
      },
    });
    const events = [eventOf("pre_action"), eventOf("pre_prompt"), eventOf("pre_action")];
    expect((await ask(server, "ahp/batch", { events })).result).toEqual({
      decisions: [
        { decision: "allow" },
        { decision: "block", reason: `Handler error: ${text}` },
        { decision: "allow" },
      ],
    });
  });
});

describe("a handler that returns what is no decision", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
  const hostile = {
    get decision(): string {
      throw new Error("do not look");
    },
  };

  const junk: [string, unknown, string][] = [
    ["nothing", undefined, "invalid type: null, expected internally tagged enum Decision"],
    ["a text", "allow", 'invalid type: string "allow", expected internally tagged enum Decision'],
    ["no tag", {}, "missing field `decision`"],
    [
      "a decision of another family",
      { decision: "approve" },
      "unknown variant `approve`, expected one of `allow`, `block`, `modify`, `defer`, `escalate`",
    ],
    ["a block without a reason", { decision: "block" }, "missing field `reason`"],
    [
      "a fraction of a millisecond",
      { decision: "defer", retry_after_ms: 0.5 },
      "floating point `0.5`, expected u64",
    ],
    ["a bigint", { decision: "modify", modified_payload: 1n }, "a bigint has no JSON form"],
    ["a function", { decision: "allow", metadata: { f: () => 1 } }, "a function has no JSON form"],
    ["a cycle", { decision: "modify", modified_payload: cycle }, "nested deeper than 127"],
    [
      "more nesting than peers read",
      { decision: "modify", modified_payload: nested(126) },
      "nested deeper than 127",
    ],
    ["a trap", hostile, "do not look"],
  ];

  function returning(value: unknown) {
    // What a handler written in JavaScript may do.
    return new AhpServer({ event: () => value as never });
  }

  test.each(junk)("%s", async (_, value, text) => {
    const { error } = await ask(returning(value), "ahp/event", eventOf("pre_action"));
    expect(error).toMatchObject({ code: -32603, data: { reason: "invalid_decision" } });
    expect(error?.message).toMatch(/^Handler error: Invalid decision: /);
    expect(error?.message).toContain(text);
  });

  test.each(junk)("%s, in a batch: is a block", async (_, value, text) => {
    const { result } = await ask(returning(value), "ahp/batch", { events: [eventOf("pre_action")] });
    expect(result).toEqual({ decisions: [{ decision: "block", reason: expect.stringContaining(text) }] });
  });

  test("in a batch decisions may be two levels less deep", async () => {
    const decision = (levels: number) => ({ decision: "modify", modified_payload: nested(levels) });
    const batch = (levels: number) =>
      ask(returning(decision(levels)), "ahp/batch", { events: [eventOf("pre_action")] });
    expect((await batch(123)).result).toMatchObject({ decisions: [{ decision: "modify" }] });
    expect((await batch(124)).result).toMatchObject({ decisions: [{ decision: "block" }] });
  });

  test("members that are no part of a decision do not travel", async () => {
    const server = returning({ decision: "defer", retry_after_ms: 5, metadata: { secret: 1 }, reason: null });
    expect((await ask(server, "ahp/event", eventOf("pre_action"))).result).toEqual({
      decision: "defer",
      retry_after_ms: 5,
    });
  });
});
