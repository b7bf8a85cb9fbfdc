import {
  type BlockingEventType,
  DECISIONS,
  Decision,
  EventType,
  type FireAndForgetEventType,
  GENERIC_EVENT_TYPES,
  isBlocking,
  RPC,
  SPECIALISED_EVENT_TYPES,
} from "@reins/ahp";
import type { z } from "zod";
import { type Check, Inapplicable, kebab, must, type Section, should } from "../check.ts";
import {
  expectDecoded,
  expectError,
  expectNotificationRefused,
  expectResult,
  expectText,
  expectUnanswered,
} from "../expect.ts";
import type { Probe } from "../probe.ts";
import { event } from "../samples.ts";

/** Which harness must decide on by itself; everything else it may say it does not support. */
const ALWAYS_DECIDED: readonly EventType[] = ["pre_action", "pre_prompt"];

/** Every event type, the way it must travel and the way it must not. */
export const events: Section = {
  section: "Events",
  reference: "Event Types; Message Model",
  checks: EventType.options.flatMap((type): Check[] =>
    isBlocking(type) ? blockingChecks(type) : fireAndForgetChecks(type),
  ),
};

function blockingChecks(type: BlockingEventType): Check[] {
  const decided = ALWAYS_DECIDED.includes(type);
  return [
    must(
      `event-${kebab(type)}-answered`,
      decided
        ? `${type} is answered with a decision`
        : `${type} is answered, or refused with -32603 where it is not supported`,
      async (probe) => {
        const answer = await probe.decide(type);
        if (decided || !answer.error) expectResult(answer, type);
        else expectError(answer, [RPC.internalError], type);
      },
    ),
    must(`event-${kebab(type)}-not-notified`, `${type} is not accepted as a notification`, async (probe) =>
      expectNotificationRefused(await probe.notify(event(type))),
    ),
  ];
}

function fireAndForgetChecks(type: FireAndForgetEventType): Check[] {
  return [
    must(`event-${kebab(type)}-noted`, `${type} is accepted as a notification, in silence`, async (probe) =>
      expectUnanswered(await probe.notify(event(type))),
    ),
    must(
      `event-${kebab(type)}-not-requested`,
      `${type} is refused with -32602 as a request`,
      async (probe) => {
        expectError(await probe.call("ahp/event", event(type)), [RPC.invalidParams], type);
      },
    ),
  ];
}

const ANY_PAYLOAD = [null, "text", 5, true, [], {}, ["a", { b: null }], { tool: "bash", arguments: "ls" }];

const CONTEXT = {
  recent_facts: [{ content: "the tests pass", source: "log", confidence: 0.9 }],
  memory_summary: { memory_type: "semantic", total_items: 1, recent_topics: ["tests"] },
  session_stats: { total_actions: 3, total_tokens: 42, duration_ms: 1000, error_count: 0 },
  current_task: "run the tests",
  capabilities: { shell: true },
};

/** The shape of every decision. Which decision it is belongs to the harness. */
export const decisions: Section = {
  section: "Decisions",
  reference: "Decision Shapes",
  checks: [
    ...[...GENERIC_EVENT_TYPES, ...SPECIALISED_EVENT_TYPES].map(shapeCheck),
    must("decision-any-payload", "pre_action and pre_prompt take any payload", async (probe) => {
      for (const type of ["pre_action", "pre_prompt"] as const) {
        for (const payload of ANY_PAYLOAD) {
          const answer = await probe.decide(type, { payload });
          if (answer.error) expectError(answer, [RPC.internalError], JSON.stringify(payload));
          else expectDecoded(Decision, answer);
        }
      }
    }),
    must("decision-with-context", "an event with context and metadata is decided on", async (probe) => {
      const metadata = { trace: "1", nested: { list: [1, 2] } };
      expectDecoded(Decision, await probe.decide("pre_action", { context: CONTEXT, metadata }));
      expectDecoded(Decision, await probe.decide("pre_action", { context: {}, metadata: {} }));
    }),
  ],
};

function shapeCheck(type: BlockingEventType): Check {
  const schema: z.ZodType = DECISIONS[type];
  return must(
    `decision-${kebab(type)}`,
    `the decision on ${type} has the shape of its family`,
    async (probe) => {
      const answer = await probe.decide(type);
      if (answer.error) throw new Inapplicable(`the harness answers: ${answer.error.message}`);
      expectDecoded(schema, answer, type);
    },
  );
}

const GREATEST = 2 ** 32 - 1;

/** How deep events may be nested in each other. */
export const depth: Section = {
  section: "Depth",
  reference: "Depth And Recursion",
  checks: [
    must("depth-at-limit", "an event exactly as deep as max_depth is decided on", async (probe) => {
      const limit = limitOf(probe);
      expectResult(await probe.decide("pre_action", { depth: limit }), `depth ${limit}`);
    }),
    must(
      "depth-over-limit",
      "a deeper event is refused with -32602 and the text that says so",
      async (probe) => {
        const { limit, over } = overLimit(probe);
        for (const depth of new Set([over, GREATEST])) {
          const text = `Invalid event: Protocol error: Event depth ${depth} exceeds configured max depth ${limit}`;
          expectText(await probe.decide("pre_action", { depth }), RPC.invalidParams, text);
          expectText(await probe.decide("idle", { depth }), RPC.invalidParams, text);
        }
      },
    ),
    must("depth-over-limit-noted", "a notification that is too deep is not accepted", async (probe) => {
      const { over } = overLimit(probe);
      expectNotificationRefused(await probe.notify(event("heartbeat", { depth: over })));
    }),
    must(
      "depth-over-limit-batched",
      "a batch with an event that is too deep is refused with -32602",
      async (probe) => {
        const { over } = overLimit(probe);
        const answer = await probe.call("ahp/batch", { events: [event("pre_action", { depth: over })] });
        expectError(answer, [RPC.invalidParams], "the batch");
      },
    ),
    must("depth-unlimited", "without max_depth any depth is decided on", async (probe) => {
      if (!probe.harness) throw new Inapplicable("what the handshake tells cannot be read");
      if (probe.harness.config?.max_depth !== undefined) throw new Inapplicable("there is a max_depth");
      expectResult(await probe.decide("pre_action", { depth: GREATEST }), `depth ${GREATEST}`);
    }),
    should(
      "depth-before-kind",
      "depth is complained about before the way an event was sent",
      async (probe) => {
        const { over } = overLimit(probe);
        const answer = await probe.call("ahp/event", event("post_action", { depth: over }));
        expectText(answer, RPC.invalidParams, "Invalid event: Protocol error: Event depth");
      },
    ),
  ],
};

function limitOf(probe: Probe): number {
  const limit = probe.harness?.config?.max_depth;
  if (limit === undefined) throw new Inapplicable("the handshake tells no max_depth");
  return limit;
}

function overLimit(probe: Probe): { limit: number; over: number } {
  const limit = limitOf(probe);
  if (limit >= GREATEST) throw new Inapplicable("no event can be deeper than max_depth");
  return { limit, over: limit + 1 };
}
