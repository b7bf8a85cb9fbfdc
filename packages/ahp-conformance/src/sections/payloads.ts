import {
  BatchResponse,
  CONTRACT_EVENT_TYPES,
  type ContractEventType,
  PAYLOADS,
  type PayloadFor,
  PerceptionDomain,
  PerceptionIntent,
  RPC,
  RunStatus,
  SPECIALISED_EVENT_TYPES,
  type SpecialisedEventType,
  TaskStatus,
  VerificationStatus,
} from "@reins/ahp";
import type { z } from "zod";
import { type Check, kebab, must, type Section, Unmet } from "../check.ts";
import {
  expectAllRefused,
  expectDecoded,
  expectError,
  expectNotificationRefused,
  expectUnanswered,
} from "../expect.ts";
import { mistypedEach, withoutEach } from "../mutations.ts";
import { event, SAMPLES } from "../samples.ts";

const session_id = "";
const updated_at = "any text";
const context = { workspace: "" };
const location = { location: { path: ".", location_type: "workspace" } };
const artifact = {
  id: "a",
  kind: "log",
  uri: "file:///a",
  path: "a",
  mime_type: "text/plain",
  sha256: "any text",
  size_bytes: 0,
  summary: "",
};
const metadata = { any: [1, null] };

/** Payloads that the protocol allows and that an implementation might trip over. */
export const VARIANTS: {
  readonly [Type in SpecialisedEventType | ContractEventType]: readonly PayloadFor<Type>[];
} = {
  idle: [
    { idle_duration_ms: 0, idle_reason: "" },
    { idle_duration_ms: Number.MAX_SAFE_INTEGER, idle_reason: "r", last_event_type: "free text" },
  ],
  intent_detection: [
    { session_id, prompt: "", workspace: "" },
    { ...SAMPLES.intent_detection, language_hint: "de" },
  ],
  context_perception: [
    { session_id, intent: "track", target: { pattern: { pattern: "*", pattern_type: "glob" } }, context },
    ...PerceptionIntent.options.map((intent) => ({ session_id, intent, target: location, context })),
    ...PerceptionDomain.options.map((domain) => ({ ...SAMPLES.context_perception, domain })),
    ...[
      { entity: { name: "n", entity_type: "function", identifier: null } },
      { event: { description: "d", event_type: "e", time_range: { from: -5, to: null, relative: "today" } } },
      { relation: { entities: ["a", "b"], relation_type: "calls" } },
      { rule: { name: "n", rule_type: "lint" } },
      { state: { target: "t", aspect: "a", include_history: true } },
      { resource: { name: "n", resource_type: "r", constraints: [1] } },
    ].map((target) => ({ ...SAMPLES.context_perception, target, metadata })),
  ],
  memory_recall: [{ session_id, query: "", memory_type: "", max_results: 0, working_directory: "" }],
  planning: [
    { session_id, task_description: "", available_strategies: [] },
    {
      session_id,
      task_description: "t",
      available_strategies: ["none", "step_by_step", "tree_of_thoughts", "graph_planning", { custom: "" }],
      constraints: [null],
    },
  ],
  reasoning: (
    ["chain_of_thought", "tree_of_thoughts", "re_act", "reflexion", { other: "by dream" }] as const
  ).map((reasoning_type) => ({ session_id, reasoning_type, problem_statement: "" })),
  rate_limit: (
    [
      "llm_token_limit",
      "llm_request_limit",
      "api_request_limit",
      "tool_execution_limit",
      { custom: "coffee" },
    ] as const
  ).map((limit_type) => ({ session_id, limit_type, retry_after_ms: 0, current_usage: "" })),
  confirmation: (["safety_confirm", "user_confirm", "cost_confirm", { custom: "twice" }] as const).map(
    (confirmation_type) => ({ session_id, confirmation_type, message: "" }),
  ),
  run_lifecycle: [
    ...RunStatus.options.map((status) => ({ run_id: "", session_id, status, updated_at })),
    { ...SAMPLES.run_lifecycle, result_summary: "done", error: "none", metadata },
  ],
  task_list: [
    { run_id: "", session_id, tasks: [], updated_at },
    {
      ...SAMPLES.task_list,
      tasks: TaskStatus.options.map((status) => ({
        id: "same",
        title: "",
        status,
        depends_on: ["no-such-step"],
        artifacts: [artifact],
      })),
      metadata,
    },
  ],
  verification: [
    ...VerificationStatus.options.map((status) => ({ run_id: "", session_id, status, updated_at })),
    {
      ...SAMPLES.verification,
      checks: [{ id: "", subject: "", status: "needs_review", message: "m", artifacts: [{ id: "" }] }],
      residual_risks: ["unknown"],
      metadata,
    },
  ],
};

/** The payloads of specialised events, which the harness checks before it decides. */
export const payloads: Section = {
  section: "Event payloads",
  reference: "Event Types; Decision Shapes (Specialized Decisions)",
  checks: SPECIALISED_EVENT_TYPES.flatMap((type) => [checked(type), understood(type)]),
};

function checked(type: SpecialisedEventType): Check {
  return must(`payload-${kebab(type)}-checked`, `a bad ${type} payload is refused`, async (probe) => {
    const schema: z.ZodType = PAYLOADS[type];
    const mutations = [
      ...withoutEach(schema, SAMPLES[type]),
      ...mistypedEach(schema, SAMPLES[type]),
      { what: "a payload of null", member: "payload", value: null },
      { what: "a payload of text", member: "payload", value: "text" },
    ];
    const params = mutations.map(({ value }) => event(type, { payload: value }));
    const answers = await probe.callEach("ahp/event", params);
    expectAllRefused(mutations, answers, [RPC.internalError, RPC.invalidParams]);
  });
}

/** A harness that does not support the family reports that, and does not reject the payload. */
function understood(type: SpecialisedEventType): Check {
  return must(
    `payload-${kebab(type)}-understood`,
    `every ${type} payload that the protocol allows is understood`,
    async (probe) => {
      const params = VARIANTS[type].map((payload) => event(type, { payload }));
      for (const answer of await probe.callEach("ahp/event", params)) {
        const { error } = answer;
        if (error && (error.code !== RPC.internalError || error.message.includes("Serialization error")))
          throw new Unmet(`a good payload is refused: ${error.message}`, answer);
      }
    },
  );
}

/** Run lifecycle, task list and verification: snapshots whose payload is checked although they expect no decision. */
export const contracts: Section = {
  section: "Durable runtime contracts",
  reference: "Durable Runtime Contracts",
  checks: CONTRACT_EVENT_TYPES.flatMap(contractChecks),
};

function contractChecks(type: ContractEventType): Check[] {
  const schema: z.ZodType = PAYLOADS[type];
  const bad = () => event(type, { payload: { run_id: "run-1" } });
  return [
    must(
      `contract-${kebab(type)}-accepted`,
      `every ${type} payload that the protocol allows is accepted`,
      async (probe) => {
        for (const payload of VARIANTS[type]) {
          const answer = await probe.call("ahp/batch", { events: [event(type, { payload })] });
          expectDecoded(BatchResponse, answer, JSON.stringify(payload));
        }
        if (!probe.overHttp) return;
        for (const payload of VARIANTS[type]) expectUnanswered(await probe.notify(event(type, { payload })));
      },
    ),
    must(
      `contract-${kebab(type)}-checked`,
      `a bad ${type} payload is refused with -32602 in a batch`,
      async (probe) => {
        const sample = SAMPLES[type];
        const mutations = [...withoutEach(schema, sample), ...mistypedEach(schema, sample)];
        const params = mutations.map(({ value }) => ({ events: [event(type, { payload: value })] }));
        expectAllRefused(mutations, await probe.callEach("ahp/batch", params));
      },
    ),
    must(
      `contract-${kebab(type)}-checked-noted`,
      `a bad ${type} notification is not accepted`,
      async (probe) => expectNotificationRefused(await probe.notify(bad())),
    ),
    must(
      `contract-${kebab(type)}-checked-requested`,
      `a bad ${type} request is refused with -32602`,
      async (probe) => {
        expectError(await probe.call("ahp/event", bad()), [RPC.invalidParams], type);
      },
    ),
  ];
}
