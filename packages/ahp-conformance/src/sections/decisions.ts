import {
  type BlockingEventType,
  DECISIONS,
  Decision,
  GENERIC_EVENT_TYPES,
  RPC,
  SPECIALISED_EVENT_TYPES,
} from "@reins/ahp";
import type { z } from "zod";
import { type Check, Inapplicable, type Section } from "../check.ts";
import { expectDecoded, expectError } from "../expect.ts";
import { kebab } from "./kebab.ts";

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
    {
      id: "decision-any-payload",
      title: "pre_action and pre_prompt take any payload",
      level: "must",
      run: async (probe) => {
        for (const type of ["pre_action", "pre_prompt"] as const) {
          for (const payload of ANY_PAYLOAD) {
            const answer = await probe.decide(type, { payload });
            if (answer.error) expectError(answer, [RPC.internalError], JSON.stringify(payload));
            else expectDecoded(Decision, answer);
          }
        }
      },
    },
    {
      id: "decision-with-context",
      title: "an event with context and metadata is decided on",
      level: "must",
      run: async (probe) => {
        const metadata = { trace: "1", nested: { list: [1, 2] } };
        expectDecoded(Decision, await probe.decide("pre_action", { context: CONTEXT, metadata }));
        expectDecoded(Decision, await probe.decide("pre_action", { context: {}, metadata: {} }));
      },
    },
  ],
};

function shapeCheck(type: BlockingEventType): Check {
  const schema: z.ZodType = DECISIONS[type];
  return {
    id: `decision-${kebab(type)}`,
    title: `the decision on ${type} has the shape of its family`,
    level: "must",
    run: async (probe) => {
      const answer = await probe.decide(type);
      if (answer.error) throw new Inapplicable(`the harness answers: ${answer.error.message}`);
      expectDecoded(schema, answer, type);
    },
  };
}
