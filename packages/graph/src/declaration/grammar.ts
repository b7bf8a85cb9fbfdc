import { z } from "zod";

/** The version of the protocol that this runtime reads. */
export const VERSION = "1";

/** The most actions in one declaration. */
export const MOST_ACTIONS = 1_000;

const ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** A stable name of an action, a call or a run. */
export const Id = z
  .string()
  .regex(ID, "1 to 128 letters, digits, '_', '-' or '.', beginning with a letter or digit");

const Text = z.string().max(100_000);
const Label = z.string().max(1_000);
// Numbers have bounds: one that is too large for a timer or a sum would be taken for none, or for another.
const Count = z.int().min(0).max(1_000_000_000);
const Tokens = z.int().min(0).max(1_000_000_000_000);
const Line = z.int().min(1).max(1_000_000_000);
const Cost = z.number().min(0).max(1_000_000_000);
/** At most 366 days. */
const Seconds = z.number().min(0).max(31_622_400);

const EXECUTOR_TYPES = ["tool", "agent", "runtime", "human", "pipeline", "service"] as const;
export const ExecutorType = z.enum(EXECUTOR_TYPES);
export type ExecutorType = z.infer<typeof ExecutorType>;

/** How an action or a run stands. */
const STATUSES = ["pending", "running", "completed", "failed", "canceled", "blocked", "waiting"] as const;
export const Status = z.enum(STATUSES);
export type Status = z.infer<typeof Status>;

/** What is returned to the model of a call of the carrier. */
const CARRIER_RESULTS = ["summary", "full", "structured", "on_failure", "on_demand", "adaptive"] as const;
/** What is returned to the model of an action of the full form. */
const ReturnToModel = z.enum([
  "none",
  "summary",
  "structured",
  "excerpt",
  "full",
  "on_failure",
  "on_demand",
  "adaptive",
]);
export type ReturnToModel = z.infer<typeof ReturnToModel>;

export const ResultPolicy = z.strictObject({
  return_to_model: ReturnToModel.default("summary"),
  /** For `adaptive` and `excerpt`: what matters most, first. */
  priority: z.array(Label).max(50).default([]),
  max_tokens: Tokens.min(1).optional(),
  store_full: z.boolean().default(true),
  if_truncated: z
    .enum(["provide_ref_and_summary", "provide_ref", "truncate", "fail"])
    .default("provide_ref_and_summary"),
});
export type ResultPolicy = z.infer<typeof ResultPolicy>;

const OnFailure = z
  .enum(["retry", "abort", "continue", "ask_model", "ask-model"])
  .transform((policy) => (policy === "ask-model" ? "ask_model" : policy));

const FailurePolicyObject = z.strictObject({
  on_failure: OnFailure.default("abort"),
  max_attempts: z.int().min(1).max(100).optional(),
  backoff_ms: Count.max(86_400_000).optional(),
});

/** What happens when an action fails: its own form, or the name of the policy alone. */
export const FailurePolicy = z
  .union([OnFailure, FailurePolicyObject])
  .transform((policy) => (typeof policy === "string" ? { on_failure: policy } : policy))
  .transform(({ on_failure, max_attempts = on_failure === "retry" ? 3 : 1, backoff_ms = 0 }) => ({
    on_failure,
    max_attempts,
    backoff_ms,
  }));
export type FailurePolicy = z.infer<typeof FailurePolicy>;

/** A condition on how an earlier action ended. */
const Condition = z.strictObject({
  action: Id,
  status: z.enum(["completed", "failed", "canceled", "blocked"]),
});
export type GraphCondition = z.infer<typeof Condition>;

const MEMBER_PATH = /^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,15}$/;

/** A loop with a bound: it ends when the condition holds, and at the latest after so many iterations. */
const Loop = z.strictObject({
  max_iterations: z.int().min(1).max(1_000),
  until: z
    .union([
      z.strictObject({ status: z.enum(["completed", "failed"]) }),
      z.strictObject({
        field: z.string().regex(MEMBER_PATH, "a plain member path, such as 'result.done'"),
        equals: z.union([z.string(), z.number(), z.boolean(), z.null()]),
      }),
    ])
    .optional(),
});
export type Loop = z.infer<typeof Loop>;

const Budget = z.strictObject({
  tokens: Tokens.optional(),
  cost: Cost.optional(),
  seconds: Seconds.optional(),
  calls: Count.optional(),
  retries: Count.optional(),
  parallel: z.int().min(1).max(1_000).optional(),
});
export type Budget = z.infer<typeof Budget>;

const SIDE_EFFECTS = ["none", "read", "write", "send", "delete", "purchase", "publish", "external"] as const;
const SideEffect = z.enum(SIDE_EFFECTS);
export type SideEffect = z.infer<typeof SideEffect>;

const Resource = z.string().min(1).max(4_096);
const Resources = z.array(Resource).max(200);
const SideEffects = z.array(SideEffect).max(SIDE_EFFECTS.length);

/** Policies that an envelope sets for all actions, and an action for itself. */
const sharedPolicies = {
  budget: Budget.optional(),
  /** Which actions wait for a person's approval. */
  permission_policy: z
    .strictObject({ requires_approval: z.boolean().optional(), approval_for: SideEffects.optional() })
    .optional(),
  /** What a cancel does to actions that run. */
  cancellation_policy: z.strictObject({ running: z.enum(["abort", "finish"]) }).optional(),
  /** Who sees results: those not named do not. */
  data_visibility: z
    .array(z.enum(["model", "user", "logs", "future_runs"]))
    .max(4)
    .optional(),
  /** Whether outputs may be shown to a model again. */
  privacy: z.strictObject({ replay: z.enum(["allowed", "never"]) }).optional(),
  /** What is free to say; the runtime stores it and looks at nothing in it. */
  metadata: z.record(z.string(), z.unknown()).optional(),
};

/** The semantic unit of work that a model declares. */
export const ActionDeclaration = z.strictObject({
  type: z.literal("action").default("action"),
  id: Id,
  title: Label.optional(),
  description: Text.optional(),
  reason: Text.optional(),
  operation: Label.optional(),
  executor: z
    .strictObject({
      type: ExecutorType.optional(),
      target: z.string().min(1).max(256).default("auto"),
      capabilities: z.array(z.string().min(1).max(128)).max(50).default([]),
    })
    .optional(),
  depends_on: z.array(Id).max(MOST_ACTIONS).default([]),
  context_refs: Resources.default([]),
  prompt_ref: Resource.optional(),
  input: z.record(z.string(), z.unknown()).optional(),
  result_policy: ResultPolicy.optional(),
  persist: z.boolean().optional(),
  failure_policy: FailurePolicy.optional(),
  when: z.array(Condition).max(100).default([]),
  loop: Loop.optional(),
  requires_approval: z.boolean().optional(),
  resources: z.strictObject({ reads: Resources.default([]), writes: Resources.optional() }).optional(),
  side_effects: SideEffects.optional(),
  /** Whether it may be done again after a failure or a crash of which the outcome is unknown. */
  idempotency: z.enum(["safe", "once"]).optional(),
  /** How people see it. */
  ui_projection: z.strictObject({ visible: z.boolean().optional(), label: Label.optional() }).optional(),
  ...sharedPolicies,
});
export type ActionDeclaration = z.infer<typeof ActionDeclaration>;

const actions = z.array(ActionDeclaration).max(MOST_ACTIONS, `at most ${MOST_ACTIONS} actions`);

const ActionGraph = z.strictObject({
  type: z.literal("action_graph").optional(),
  actions: actions.default([]),
});

/** A request to see more of something that the runtime stored. */
const ExpandRef = z.strictObject({
  type: z.literal("expand_ref").optional(),
  refs: z
    .array(
      z.strictObject({
        ref: Resource,
        reason: Text.optional(),
        range: z
          .strictObject({
            around_matches: z.union([z.boolean(), z.string().max(1_000)]).optional(),
            context_lines: Count.max(10_000).optional(),
            from_line: Line.optional(),
            to_line: Line.optional(),
          })
          .optional(),
      }),
    )
    .min(1)
    .max(50),
});

const Cancel = z.strictObject({
  type: z.literal("cancel").optional(),
  run_id: Id,
  /** None is no list: without it the whole run is canceled. */
  actions: z.array(Id).min(1).max(MOST_ACTIONS).optional(),
});

const Revise = z.strictObject({ type: z.literal("action_graph").optional(), run_id: Id, actions });

const Decision = z.strictObject({
  type: z.literal("decision").optional(),
  run_id: Id,
  action_id: Id,
  decision: z.enum(["retry", "continue", "abort"]),
  note: Text.optional(),
});

/** The sections that the final report of a run has to have. */
const FinalReportSpec = z.strictObject({
  type: z.literal("final_report_spec"),
  sections: z.array(z.string().min(1).max(256)).min(1).max(100),
});

/** What a model wants the runtime to do with a payload. */
export const INTENTS = ["execute", "plan", "expand_ref", "cancel", "revise", "decide"] as const;
type Intent = (typeof INTENTS)[number];

/** The top level of a declaration; its payload is read by {@link DECLARED_PAYLOADS}. */
export const DeclarationEnvelope = z.strictObject({
  type: z.literal("agent.protocol"),
  version: z.string().max(16),
  intent: z.enum(INTENTS),
  persist: z.boolean().optional(),
  title: Label.optional(),
  execution: z
    .strictObject({
      mode: z.enum(["ephemeral", "durable"]).optional(),
      strategy: z.literal("dag").optional(),
    })
    .optional(),
  response_policy: z
    .strictObject({
      while_waiting: z.enum(["wait", "call_model"]).default("wait"),
      replay: z.enum(["full", "compressed", "hybrid"]).optional(),
      max_tokens: Tokens.min(1).optional(),
    })
    .optional(),
  /** How two actions that would write the same resource are treated. */
  conflict_resolution: z.enum(["serialize", "refuse"]).optional(),
  /** Whether results of a run that failed half way are returned. */
  partial_results: z.enum(["return", "withhold"]).optional(),
  /** What is returned of actions without a policy of their own. */
  result_granularity: ReturnToModel.optional(),
  /** Actions before which a person is asked. */
  approval_gates: z
    .array(z.strictObject({ before: Id, message: Text.optional() }))
    .max(100)
    .optional(),
  /** Earlier versions as which the declaration may be read. */
  schema_evolution: z.strictObject({ compatible_with: z.array(z.string().max(16)).max(10) }).optional(),
  payload: z.record(z.string(), z.unknown()),
  ...sharedPolicies,
});

/** The payloads that an intent may have, by their `type`; the first one is meant where it is absent. */
export const DECLARED_PAYLOADS = {
  execute: { action_graph: ActionGraph, final_report_spec: FinalReportSpec },
  plan: { action_graph: ActionGraph, final_report_spec: FinalReportSpec },
  expand_ref: { expand_ref: ExpandRef },
  cancel: { cancel: Cancel },
  revise: { action_graph: Revise },
  decide: { decision: Decision },
} as const satisfies Readonly<Record<Intent, Readonly<Record<string, z.ZodType>>>>;

type PayloadOf<One extends Intent> = {
  [Type in keyof (typeof DECLARED_PAYLOADS)[One]]: { readonly type: Type } & Omit<
    z.infer<Extract<(typeof DECLARED_PAYLOADS)[One][Type], z.ZodType>>,
    "type"
  >;
}[keyof (typeof DECLARED_PAYLOADS)[One]];

/** What a model declares, by its intent. */
export type ProtocolDeclaration = {
  [One in Intent]: Omit<z.infer<typeof DeclarationEnvelope>, "intent" | "payload"> & {
    readonly intent: One;
    readonly payload: PayloadOf<One>;
  };
}[Intent];

/** One call of the carrier. */
const Call = z.strictObject({
  id: Id,
  type: z.enum(["tool", "agent"]),
  name: z.string().min(1).max(256),
  args: z.record(z.string(), z.unknown()).optional(),
  depends: z.union([Id, z.array(Id).max(MOST_ACTIONS)]).optional(),
  result: z.enum(CARRIER_RESULTS).default("summary"),
  title: Label.optional(),
});

/** The small form that a model submits by the native call `AgentProtocolOutput`. */
export const ProtocolOutput = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("act"),
    message: Text.optional(),
    calls: z.array(Call).min(1).max(MOST_ACTIONS),
  }),
  z.strictObject({ kind: z.literal("answer"), message: Text }),
  z.strictObject({ kind: z.literal("done"), message: Text.optional() }),
]);
export type ProtocolOutput = z.infer<typeof ProtocolOutput>;

/** The native call that carries a {@link ProtocolOutput}. */
export const CARRIER_TOOL = "AgentProtocolOutput";
