import { type AhpEvent, BatchResponse, Decision, EventType, isBatchable, isBlocking, RPC } from "@reins/ahp";
import { type Check, Inapplicable, improved, kebab, must, type Section, Unmet } from "../check.ts";
import { expectDecoded, expectError, type HarnessResponse } from "../expect.ts";
import type { Probe } from "../probe.ts";
import { event } from "../samples.ts";

/** The largest batch the kit is willing to send. */
const MOST = 500;
const NOT_BATCHABLE = EventType.options.filter((type) => !isBatchable(type));

function notBatchable(type: EventType): Check {
  return must(`batch-${kebab(type)}-refused`, `${type} in a batch is refused with -32602`, async (probe) => {
    const answer = await probe.call("ahp/batch", { events: around(probe, event(type)) });
    expectError(answer, [RPC.invalidParams], `a batch with ${type}`);
  });
}

/** A bad event between good ones, as far as the limit allows. */
function around(probe: Probe, bad: unknown): unknown[] {
  const limit = limitOf(probe);
  if (limit < 1) throw new Inapplicable("batch_size is 0");
  return limit < 3 ? [bad] : [event("heartbeat"), bad, event("heartbeat")];
}

function send(probe: Probe, events: readonly AhpEvent[]): Promise<HarnessResponse> {
  return probe.call("ahp/batch", { events });
}

function expectCount(answer: HarnessResponse, expected: number): void {
  const { length } = expectDecoded(BatchResponse, answer, "the batch").decisions;
  if (length !== expected) throw new Unmet(`${expected} events got ${length} decisions`, answer);
}

function heartbeats(length: number): AhpEvent[] {
  return Array.from({ length }, () => event("heartbeat"));
}

function limitOf(probe: Probe): number {
  return probe.harness?.config?.batch_size ?? Number.POSITIVE_INFINITY;
}

function toldLimit(probe: Probe): number {
  const limit = probe.harness?.config?.batch_size;
  if (limit === undefined) throw new Inapplicable("the handshake tells no batch_size");
  return limit;
}

/** Things on which policies tend to differ. */
const CANDIDATES: readonly AhpEvent[] = [
  event("pre_action"),
  event("pre_action", { payload: tool("bash", { command: "rm -rf /" }) }),
  event("pre_action", { payload: tool("rm", {}) }),
  event("pre_action", { payload: tool("write_file", { path: "/etc/passwd", content: "" }) }),
  event("pre_prompt"),
];

/** Order shows only where two events are decided on differently; which ones is the harness's affair. */
const batchOrder: Check = {
  id: "batch-order",
  title: "the decisions of a batch come in the order of its events",
  level: "must",
  run: async (probe) => {
    const before = await decideOnEach(probe);
    const differing = CANDIDATES.findIndex((_, index) => before[index] !== before[0]);
    if (differing < 0) throw new Inapplicable("the harness decides the same on everything the kit tried");
    const limit = probe.harness?.config?.batch_size ?? CANDIDATES.length;
    if (limit < 2) throw new Inapplicable(`batch_size is ${limit}`);
    for (const order of [
      [0, differing],
      [differing, 0],
    ]) {
      const events = order.flatMap((index) => CANDIDATES[index] ?? []);
      const answer = await probe.call("ahp/batch", { events });
      const { decisions } = expectDecoded(BatchResponse, answer);
      const expected = order.map((index) => before[index]).join();
      if (decisions.map(({ decision }) => decision).join() === expected) continue;
      if ((await decideOnEach(probe)).join() !== before.join())
        throw new Inapplicable("the harness does not decide the same twice");
      throw new Unmet(`decided on one by one, these events get ${expected}`, answer);
    }
  },
};

async function decideOnEach(probe: Probe): Promise<string[]> {
  const answers = await probe.callEach("ahp/event", CANDIDATES);
  return answers.map((answer) => expectDecoded(Decision, answer).decision);
}

function tool(tool_name: string, args: object): object {
  return { action_type: "tool_call", tool_name, arguments: args };
}

/** Many generic events in one request. */
export const batch: Section = {
  section: "Batch",
  reference: "Batching Rules; Methods (ahp/batch)",
  checks: [
    must("batch-empty", "an empty batch gets an empty list", async (probe) =>
      expectCount(await send(probe, []), 0),
    ),
    must("batch-count", "a batch gets one generic decision for each event", async (probe) => {
      for (const length of [1, 2, 7].filter((size) => size <= limitOf(probe))) {
        const events = Array.from({ length }, (_, index) => event(index % 2 ? "pre_prompt" : "pre_action"));
        expectCount(await send(probe, events), length);
      }
    }),
    batchOrder,
    must("batch-fire-and-forget", "fire-and-forget events in a batch get a decision too", async (probe) => {
      for (const type of EventType.options.filter((each) => !isBlocking(each)))
        expectCount(await send(probe, [event(type)]), 1);
    }),
    must("batch-at-limit", "a batch of exactly batch_size events is decided on", async (probe) => {
      const limit = toldLimit(probe);
      if (limit > MOST) throw new Inapplicable(`batch_size is ${limit}`);
      expectCount(await send(probe, heartbeats(limit)), limit);
    }),
    must("batch-over-limit", "a longer batch is refused with -32602", async (probe) => {
      const limit = toldLimit(probe);
      if (limit > MOST) throw new Inapplicable(`batch_size is ${limit}`);
      expectError(await send(probe, heartbeats(limit + 1)), [RPC.invalidParams], "the batch");
    }),
    ...NOT_BATCHABLE.map(notBatchable),
    must("batch-unknown-type", "an unknown event type fails the whole batch with -32602", async (probe) => {
      const unknown = { ...event("pre_action"), event_type: "no_such_event" };
      const answer = await probe.call("ahp/batch", { events: around(probe, unknown) });
      expectError(answer, [RPC.invalidParams], "the batch");
    }),
    must(
      "batch-bad-event",
      "an event without a required member fails the whole batch with -32602",
      async (probe) => {
        const { depth: _, ...bad } = event("pre_action");
        const answer = await probe.call("ahp/batch", { events: around(probe, bad) });
        expectError(answer, [RPC.invalidParams], "the batch");
      },
    ),
    must("batch-params", "params without a list of events are refused with -32602", async (probe) => {
      for (const params of [{}, { events: null }, { events: {} }, { events: "x" }, { events: [5] }])
        expectError(await probe.call("ahp/batch", params), [RPC.invalidParams], JSON.stringify(params));
    }),
    improved(
      "batch-offender-named",
      "the error of a refused batch says which event it was, in data.index",
      async (probe) => {
        const events = around(probe, event("idle"));
        const answer = await probe.call("ahp/batch", { events });
        const { data } = expectError(answer, [RPC.invalidParams]);
        const index = typeof data === "object" && data !== null && "index" in data ? data.index : undefined;
        if (index !== events.length - 2 && events.length > 1) throw new Unmet("no data.index", answer);
      },
    ),
  ],
};
