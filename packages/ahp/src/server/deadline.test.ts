import { runInNewContext } from "node:vm";
import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { ask, eventOf, notification, request, send } from "../../test/messages.ts";
import type { BlockingEventType } from "../protocol/event.ts";
import type { Call, Handlers } from "./handlers.ts";
import { AhpServer } from "./server.ts";

const silence = () => new Promise<never>(() => {});

/** A harness that never answers anything. */
const silent: Handlers = {
  event: silence,
  notification: silence,
  query: silence,
  idle: silence,
  context_perception: silence,
  memory_recall: silence,
  planning: silence,
  reasoning: silence,
  rate_limit: silence,
  confirmation: silence,
  intent_detection: silence,
};

const reason = "Handler error: Timeout after 1000ms";

const CLOSED: Readonly<Record<BlockingEventType, object>> = {
  pre_action: { decision: "block", reason },
  pre_prompt: { decision: "block", reason },
  handshake: { decision: "block", reason },
  query: { decision: "block", reason },
  idle: { decision: "defer", reason },
  context_perception: { decision: "block", reason },
  memory_recall: { decision: "block", reason },
  planning: { decision: "block", reason },
  reasoning: { decision: "block", reason },
  rate_limit: { decision: "skip", reason },
  confirmation: { decision: "reject", reason },
  intent_detection: { decision: "block", reason },
};

function serve(handlers: Partial<Handlers>, options = {}) {
  const clock = new ManualClock();
  return {
    clock,
    server: new AhpServer({ ...silent, ...handlers }, { clock, deadlineMs: 1000, ...options }),
  };
}

describe("when a handler takes too long, nothing happens", () => {
  test.each(Object.entries(CLOSED))("%s is answered with %j", async (type, decision) => {
    const { clock, server } = serve({});
    const reply = ask(server, "ahp/event", eventOf(type as BlockingEventType));
    await clock.advanceAndSettle(1000);
    expect((await reply).result).toEqual(decision);
  });

  test("and not before", async () => {
    const { clock, server } = serve({});
    let answered = false;
    const reply = ask(server, "ahp/event", eventOf("pre_action")).then(() => {
      answered = true;
    });
    await clock.advanceAndSettle(999);
    expect(answered).toBe(false);
    await clock.advanceAndSettle(1);
    await reply;
    expect(answered).toBe(true);
  });

  test("a question is answered with an error", async () => {
    const { clock, server } = serve({});
    const query = { session_id: "s", agent_id: "a", query_type: "t", payload: null };
    const reply = ask(server, "ahp/query", query);
    await clock.advanceAndSettle(1000);
    expect((await reply).error).toMatchObject({ code: -32603, data: { reason: "handler_timeout" } });
  });

  test("a notification is reported as dropped", async () => {
    const dropped: string[] = [];
    const { clock, server } = serve({}, { onDropped: (why: string) => dropped.push(why) });
    const done = send(server, notification(eventOf("post_action")));
    await clock.advanceAndSettle(1000);
    expect(await done).toBeUndefined();
    expect(dropped).toEqual([reason]);
  });
});

describe("a handler", () => {
  test("that answers in time is not disturbed, and leaves no timer behind", async () => {
    const { clock, server } = serve({ event: async () => ({ decision: "allow" }) });
    expect((await ask(server, "ahp/event", eventOf("pre_action"))).result).toEqual({ decision: "allow" });
    expect(clock.waiting).toBe(0);
  });

  test("that answers at once needs no timer", async () => {
    const { clock, server } = serve({ event: () => ({ decision: "allow" }) });
    const reply = ask(server, "ahp/event", eventOf("pre_action"));
    expect(clock.waiting).toBe(0);
    expect((await reply).result).toEqual({ decision: "allow" });
  });

  test("that answers too late is ignored", async () => {
    const late = Promise.withResolvers<{ decision: "allow" }>();
    const { clock, server } = serve({ event: () => late.promise });
    const reply = ask(server, "ahp/event", eventOf("pre_action"));
    await clock.advanceAndSettle(1000);
    late.resolve({ decision: "allow" });
    expect((await reply).result).toEqual(CLOSED.pre_action);
  });

  test("that fails too late is ignored, and breaks nothing", async () => {
    const late = Promise.withResolvers<never>();
    const { clock, server } = serve({ event: () => late.promise });
    const reply = ask(server, "ahp/event", eventOf("pre_action"));
    await clock.advanceAndSettle(1000);
    late.reject(new Error("too late"));
    expect((await reply).result).toEqual(CLOSED.pre_action);
    await clock.advanceAndSettle(0);
  });

  test("that fails in time is an error, not a timeout", async () => {
    const { clock, server } = serve({ event: () => Promise.reject(new Error("no")) });
    const reply = await ask(server, "ahp/event", eventOf("pre_action"));
    expect(reply.error?.data).toEqual({ reason: "handler_failed" });
    expect(clock.waiting).toBe(0);
  });

  test("whose answer is a promise of another realm or library is held to the deadline too", async () => {
    const foreign: Promise<never> = runInNewContext("new Promise(() => {})");
    expect(foreign).not.toBeInstanceOf(Promise);
    const { clock, server } = serve({ event: () => foreign });
    const reply = ask(server, "ahp/event", eventOf("pre_action"));
    await clock.advanceAndSettle(1000);
    expect((await reply).result).toEqual(CLOSED.pre_action);
  });
});

describe("the signal", () => {
  async function signalOf(ask: (call: Call) => AbortSignal, early: boolean): Promise<AbortSignal> {
    let call: Call | undefined;
    let signal: AbortSignal | undefined;
    const { clock, server } = serve({
      event(_, given) {
        call = given;
        if (early) signal = ask(given);
        return silence();
      },
    });
    const reply = send(server, request("ahp/event", eventOf("pre_action")));
    expect(signal?.aborted ?? false).toBe(false);
    await clock.advanceAndSettle(1000);
    await reply;
    if (!call) throw new Error("the handler did not run");
    return signal ?? ask(call);
  }

  test.each([
    ["asked for in time", true],
    ["asked for too late", false],
  ])("%s says that the deadline has passed", async (_, early) => {
    const signal = await signalOf((call) => call.signal, early);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({
      name: "AhpError",
      code: "timeout",
      message: "Timeout after 1000ms",
    });
  });

  test("ends a handler that listens, whose own error does not replace the timeout", async () => {
    const { clock, server } = serve({
      event: (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("gave up")))),
    });
    const reply = ask(server, "ahp/event", eventOf("pre_action"));
    await clock.advanceAndSettle(1000);
    expect((await reply).result).toEqual(CLOSED.pre_action);
  });

  test("stays quiet when the handler is in time", async () => {
    let signal: AbortSignal | undefined;
    const { clock, server } = serve({
      async event(_, call) {
        signal = call.signal;
        return { decision: "allow" };
      },
    });
    await ask(server, "ahp/event", eventOf("pre_action"));
    await clock.advanceAndSettle(5000);
    expect(signal?.aborted).toBe(false);
  });
});

describe("how long a handler has", () => {
  test.each([
    ["what `deadlineMs` says", { deadlineMs: 5, config: { timeout_ms: 7 } }, 5],
    ["else what the handshake promises", { deadlineMs: undefined, config: { timeout_ms: 7 } }, 7],
    ["else ten seconds", { deadlineMs: undefined, config: {} }, 10_000],
    ["by default ten seconds", { deadlineMs: undefined }, 10_000],
  ])("%s", async (_, options, milliseconds) => {
    const { clock, server } = serve({}, options);
    const reply = ask(server, "ahp/event", eventOf("pre_action"));
    await clock.advanceAndSettle(milliseconds - 1);
    expect(clock.waiting).toBe(1);
    await clock.advanceAndSettle(1);
    expect((await reply).result).toMatchObject({ reason: `Handler error: Timeout after ${milliseconds}ms` });
  });

  test("as long as it likes, upstream", async () => {
    const late = Promise.withResolvers<{ decision: "allow" }>();
    const { clock, server } = serve({ event: () => late.promise }, { compat: true });
    const reply = ask(server, "ahp/event", eventOf("pre_action"));
    expect(clock.waiting).toBe(0);
    await clock.advanceAndSettle(1_000_000);
    late.resolve({ decision: "allow" });
    expect((await reply).result).toEqual({ decision: "allow" });
  });
});
