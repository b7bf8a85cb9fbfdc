import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { type LoggedEvent, REFUSED, TurnQueue } from "@reins/host";
import { describe, expect, test } from "vitest";
import type { NumberedEvent } from "./protocol.ts";
import { EventSequence } from "./sessions.ts";
import { HaakTurn } from "./turn.ts";

type ClientCall = (name: string, input: unknown, signal: AbortSignal) => Promise<unknown>;

/** A turn on a hub whose agent the test plays. */
function newTurn({ input = {} }: { readonly input?: object } = {}) {
  const prompted = Promise.withResolvers<{ readonly prompt: unknown; readonly signal: AbortSignal }>();
  const result = Promise.withResolvers<unknown>();
  const events: NumberedEvent[] = [];
  let offered: { readonly call: ClientCall } | undefined;
  let feed: (event: LoggedEvent) => void | Promise<void> = () => undefined;
  let order = 0;
  const state = { connections: 0, announced: 0, begun: 0 };
  const arrivals: number[] = [];
  const log = {
    end: async () => ({ epoch: 1, order: 0 }),
    written: async () => undefined,
    last: () => order,
    subscribe: (subscriber: { event: typeof feed }) => {
      feed = subscriber.event;
      return { add: () => {}, reached: async () => {}, close: () => {} };
    },
  };
  const connection = {
    id: "mine",
    fail: () => "unknown",
    request: (_: string, params: { prompt: unknown }, signal: AbortSignal) => {
      prompted.resolve({ prompt: params.prompt, signal });
      signal.addEventListener("abort", () => result.reject(new Error("aborted")), { once: true });
      return result.promise;
    },
  };
  const hub = {
    log,
    live: () => undefined,
    connect: async ({ arrival }: { readonly arrival: number }) => {
      state.connections += 1;
      arrivals.push(arrival);
      return connection;
    },
    disconnect: () => {
      state.connections -= 1;
    },
  };
  const offers = {
    announce: (_: string, offer: { readonly call: ClientCall }) => {
      state.announced += 1;
      offered = offer;
      return () => {
        state.announced -= 1;
      };
    },
  };
  const harness = { ledger: { read: async () => [] }, supervisor: { close: async () => undefined } };
  const turn = new HaakTurn(
    {
      ...{ hub: hub as never, harness: harness as never, offers: offers as never },
      redact: (value) => value,
      clock: { now: () => new Date(0), after: () => () => undefined },
    },
    {
      record: { id: "s1", tenant: "default", key: "key", agent: "stub" } as never,
      entry: { toolNames: { members: [], aliases: [], kinds: {} } },
      principal: { id: "ada", tenant: "default" } as never,
      sequence: new EventSequence({ messages: 0, entries: 0 }),
      input: { prompt: [{ type: "text", text: "hi" }], results: [], earlier: undefined, ...input },
      tools: undefined,
      arrival: 7,
      onBegin: () => {
        state.begun += 1;
      },
    },
  );
  const emit = (event: NumberedEvent) => void events.push(event);
  const update = (sessionUpdate: string, members: JsonObject, except?: string) => {
    order += 1;
    const message = { method: "session/update", params: { update: { sessionUpdate, ...members } } };
    const event = { tenant: "default", session: "s1", message, order, epoch: 1, at: 0 };
    return feed(except === undefined ? event : { ...event, except });
  };
  return {
    ...{ turn, state, arrivals, events, emit, prompted: prompted.promise, result, update },
    types: () => events.map(({ type }) => type),
    /** Starts the turn and lets its agent receive the prompt. */
    begin: async () => {
      const segment = turn.begin(emit, new TurnQueue());
      segment.catch(() => undefined);
      await prompted.promise;
      await update("user_message_chunk", {}, "mine");
      return { segment };
    },
    call: (name: string) => offered?.call(name, {}, new AbortController().signal),
    announce: (id: string, title: string) => update("tool_call", { toolCallId: id, name: title }),
  };
}

describe("a turn", () => {
  test("prompts under the number that it arrived with, so that what came since then cancels it", async () => {
    const { begin, arrivals } = newTurn();
    await begin();
    expect(arrivals).toEqual([7]);
  });

  test("ends with done, the stop reason and the usage, and leaves nothing behind", async () => {
    const { turn, begin, result, update, events, state } = newTurn();
    const { segment } = await begin();
    await update("agent_message_chunk", { content: { type: "text", text: "hello" } });
    result.resolve({ stopReason: "max_tokens", usage: { totalTokens: 3 } });
    await segment;
    await turn.ended;
    expect(events).toEqual([
      { type: "text_delta", text: "hello", seq: 1 },
      { type: "done", stop_reason: "max_tokens", usage: { total_tokens: 3 }, seq: 2 },
    ]);
    expect(state).toEqual({ connections: 0, announced: 0, begun: 1 });
  });

  test("adds unexpected tool results to the prompt as text", async () => {
    const results = [{ id: "c9", text: "late", isError: false }];
    const { begin, prompted } = newTurn({ input: { results } });
    await begin();
    expect((await prompted).prompt).toEqual([
      { type: "text", text: "hi" },
      { type: "text", text: "The result of c9:\nlate" },
    ]);
  });

  test("ends with done and cancelled when it is cancelled", async () => {
    const { turn, begin, events, prompted } = newTurn();
    const { segment } = await begin();
    turn.cancel("enough");
    await segment;
    expect((await prompted).signal.aborted).toBe(true);
    expect(events).toEqual([{ type: "done", stop_reason: "cancelled", usage: {}, seq: 1 }]);
  });

  test("that is cancelled while it waits in the queue never reaches its agent", async () => {
    const { turn, emit, events, state } = newTurn();
    const queue = new TurnQueue();
    const busy = Promise.withResolvers<void>();
    void queue.run(() => busy.promise, new AbortController().signal);
    const segment = turn.begin(emit, queue);
    turn.cancel("enough");
    await segment;
    busy.resolve();
    expect(events).toMatchObject([{ type: "done", stop_reason: "cancelled" }]);
    expect(state.connections).toBe(0);
  });

  test.each([
    [new RpcError(REFUSED, "forbidden"), "refused"],
    [new RpcError(CODE.invalidParams, "no"), "invalid_params"],
  ])("that is rejected before it begins throws: %s", async (error, code) => {
    const { turn, emit, result, events } = newTurn();
    const segment = turn.begin(emit, new TurnQueue());
    result.reject(error);
    await expect(segment).rejects.toMatchObject({ code });
    expect(events).toEqual([]);
  });

  test("whose agent fails before it begins ends with backend_unavailable", async () => {
    const { turn, emit, result, events } = newTurn();
    const segment = turn.begin(emit, new TurnQueue());
    result.reject(new Error("no such file"));
    await segment;
    expect(events).toMatchObject([{ type: "error", code: "backend_unavailable", message: "no such file" }]);
  });

  test("whose agent fails later ends with the code that the error names, or internal", async () => {
    for (const [error, code] of [
      [new RpcError(CODE.internal, "gone", { reins: { code: "agent_lost" } }), "agent_lost"],
      [new Error("gone"), "internal"],
    ] as const) {
      const { begin, result, events } = newTurn();
      const { segment } = await begin();
      result.reject(error);
      await segment;
      expect(events).toMatchObject([{ type: "error", code, message: "gone" }]);
    }
  });
});

describe("a turn whose client runs a tool", () => {
  test("ends a segment with tool_use and continues with the result", async () => {
    const { turn, begin, announce, call, result, types, emit } = newTurn();
    const { segment } = await begin();
    await announce("c1", "bash");
    const outcome = call("bash");
    await segment;
    expect([turn.isPaused, types()]).toEqual([true, ["tool_call", "done"]]);
    const results = [{ id: "c1", text: "a.txt", isError: false }];
    const next = turn.resume({ results, prompt: [{ type: "text", text: "and?" }], earlier: undefined }, emit);
    expect(await outcome).toEqual({ text: "a.txt\nand?", isError: false });
    expect(turn.isPaused).toBe(false);
    result.resolve({ stopReason: "end_turn" });
    await next;
    expect(types()).toEqual(["tool_call", "done", "done"]);
  });

  test("holds events between segments and emits them first in the next", async () => {
    const { turn, begin, announce, call, update, events, emit } = newTurn();
    const { segment } = await begin();
    await announce("c1", "bash");
    void call("bash");
    await segment;
    events.length = 0;
    await update("agent_message_chunk", { content: { type: "text", text: "meanwhile" } });
    expect(events).toEqual([]);
    void turn.resume(
      { results: [{ id: "c1", text: "ok", isError: false }], prompt: [], earlier: undefined },
      emit,
    );
    expect(events).toMatchObject([{ type: "text_delta", text: "meanwhile" }]);
  });

  test("is not resumed by results that no call waits for, nor without results", async () => {
    const { turn, begin, announce, call, emit } = newTurn();
    const { segment } = await begin();
    await announce("c1", "bash");
    void call("bash");
    await segment;
    const stray = [{ id: "c7", text: "?", isError: false }];
    expect(turn.resume({ results: stray, prompt: [], earlier: undefined }, emit)).toBeUndefined();
    expect(turn.resume({ results: [], prompt: [], earlier: undefined }, emit)).toBeUndefined();
    expect(turn.isPaused).toBe(true);
  });
});
