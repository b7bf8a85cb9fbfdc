import { z } from "zod";
import { any, f32, i32, list, openChoice, optional, struct, text, u64, usize } from "../wire/schema.ts";

/** Payload of `idle`. */
export const IdleEvent = struct("IdleEvent", {
  idle_duration_ms: u64,
  idle_reason: text,
  last_event_type: optional(text),
  suggested_action: optional(text),
});
export type IdleEvent = z.infer<typeof IdleEvent>;

/** Payload by convention of `heartbeat`; the protocol does not check it. */
export const HeartbeatEvent = struct("HeartbeatEvent", {
  uptime_ms: u64,
  total_events_processed: u64,
  current_state: text,
  cpu_percent: optional(f32),
  memory_bytes: optional(u64),
  active_tools: optional(usize),
  pending_actions: optional(usize),
  queue_depth: optional(usize),
  tokens_used: optional(i32),
});
export type HeartbeatEvent = z.infer<typeof HeartbeatEvent>;

/** Payload by convention of `success`; the protocol does not check it. */
export const SuccessEvent = struct("SuccessEvent", {
  session_id: text,
  action_type: text,
  action_summary: text,
  duration_ms: u64,
});
export type SuccessEvent = z.infer<typeof SuccessEvent>;

/** Payload of `intent_detection`. */
export const IntentDetectionEvent = struct("IntentDetectionEvent", {
  session_id: text,
  prompt: text,
  workspace: text,
  language_hint: optional(text),
});
export type IntentDetectionEvent = z.infer<typeof IntentDetectionEvent>;

/** Payload of `memory_recall`. */
export const MemoryRecallEvent = struct("MemoryRecallEvent", {
  session_id: text,
  query: text,
  memory_type: text,
  max_results: usize,
  working_directory: text,
});
export type MemoryRecallEvent = z.infer<typeof MemoryRecallEvent>;

/** How a task may be planned. */
export const PlanningStrategy = openChoice(
  "PlanningStrategy",
  ["none", "step_by_step", "tree_of_thoughts", "graph_planning"],
  z.strictObject({ custom: text }),
);
export type PlanningStrategy = z.infer<typeof PlanningStrategy>;

/** Payload of `planning`. */
export const PlanningEvent = struct("PlanningEvent", {
  session_id: text,
  task_description: text,
  available_strategies: list(PlanningStrategy),
  constraints: optional(any),
});
export type PlanningEvent = z.infer<typeof PlanningEvent>;

/** How a problem may be reasoned about; `re_act` is the protocol's spelling. */
export const ReasoningType = openChoice(
  "ReasoningType",
  ["chain_of_thought", "tree_of_thoughts", "re_act", "reflexion"],
  z.strictObject({ other: text }),
);
export type ReasoningType = z.infer<typeof ReasoningType>;

/** Payload of `reasoning`. */
export const ReasoningEvent = struct("ReasoningEvent", {
  session_id: text,
  reasoning_type: ReasoningType,
  problem_statement: text,
  hints: optional(list(text)),
});
export type ReasoningEvent = z.infer<typeof ReasoningEvent>;

/** Which limit was hit. */
export const RateLimitType = openChoice(
  "RateLimitType",
  ["llm_token_limit", "llm_request_limit", "api_request_limit", "tool_execution_limit"],
  z.strictObject({ custom: text }),
);
export type RateLimitType = z.infer<typeof RateLimitType>;

/** Payload of `rate_limit`. */
export const RateLimitEvent = struct("RateLimitEvent", {
  session_id: text,
  limit_type: RateLimitType,
  retry_after_ms: u64,
  current_usage: text,
});
export type RateLimitEvent = z.infer<typeof RateLimitEvent>;

/** Why approval is sought. */
export const ConfirmationType = openChoice(
  "ConfirmationType",
  ["safety_confirm", "user_confirm", "cost_confirm"],
  z.strictObject({ custom: text }),
);
export type ConfirmationType = z.infer<typeof ConfirmationType>;

/** Payload of `confirmation`. */
export const ConfirmationEvent = struct("ConfirmationEvent", {
  session_id: text,
  confirmation_type: ConfirmationType,
  message: text,
  options: optional(list(text)),
});
export type ConfirmationEvent = z.infer<typeof ConfirmationEvent>;
