import type { ContextPerceptionDecision, ContextPerceptionPayload } from "./perception.ts";

/** A known fact with its source. */
export interface Fact {
  readonly content: string;
  readonly source: string;
  /** From 0 to 1. */
  readonly confidence: number;
}

type Optional<Value> = Value | null | undefined;

/** The generic decision. When a person had to be asked, `allow` or `block` is already the person's answer. */
type Decision =
  | { readonly decision: "allow"; readonly modified_payload?: unknown }
  | { readonly decision: "block"; readonly reason: string }
  | { readonly decision: "modify"; readonly modified_payload: unknown }
  | { readonly decision: "defer"; readonly retry_after_ms: number; readonly reason?: Optional<string> }
  | { readonly decision: "escalate"; readonly reason: string };

/** Payload of `pre_prompt`: a request that is about to be sent to a model. */
interface PrePromptPayload {
  readonly session_id: string;
  /** What is new since the last request: the prompt, or the results of tools. */
  readonly prompt: string;
  readonly message_count: number;
  readonly model: string;
  /** Number of the request in its turn, from 1. */
  readonly request: number;
  /** Tokens of the turn so far. */
  readonly tokens_used: number;
  readonly purpose: "turn" | "compaction";
}

/** Payload of `intent_detection`. */
interface IntentDetectionPayload {
  readonly session_id: string;
  readonly prompt: string;
  readonly workspace: string;
  readonly language_hint?: string | undefined;
}

/** The target of a detected intent. */
export interface TargetHints {
  readonly target_type?: Optional<string>;
  readonly target_name?: Optional<string>;
  readonly domain?: Optional<string>;
}

/** The detected intent. */
export type IntentDetectionDecision =
  | {
      readonly decision: "allow";
      readonly detected_intent: string;
      readonly confidence: number;
      readonly target_hints?: Optional<TargetHints>;
    }
  | { readonly decision: "block"; readonly reason: string };

/** Payload of `memory_recall`. */
interface MemoryRecallPayload {
  readonly session_id: string;
  readonly query: string;
  readonly memory_type: string;
  readonly max_results: number;
  readonly working_directory: string;
}

/** Facts found in memory. */
type MemoryRecallDecision =
  | { readonly decision: "allow"; readonly injected_facts: readonly Fact[] }
  | { readonly decision: "block"; readonly reason: string };

/** A planning strategy. */
export type PlanningStrategy =
  | "none"
  | "step_by_step"
  | "tree_of_thoughts"
  | "graph_planning"
  | { readonly custom: string };

/** Payload of `planning`. */
export interface PlanningPayload {
  readonly session_id: string;
  readonly task_description: string;
  readonly available_strategies: readonly PlanningStrategy[];
  readonly constraints?: unknown;
}

/** A strategy, or a modified task. */
type PlanningDecision =
  | {
      readonly decision: "allow";
      readonly selected_strategy: PlanningStrategy;
      readonly planning_template?: unknown;
    }
  | { readonly decision: "block"; readonly reason: string }
  | {
      readonly decision: "modify";
      readonly modified_task: string;
      readonly hints?: Optional<readonly string[]>;
    };

/** Payload of `reasoning`. */
interface ReasoningPayload {
  readonly session_id: string;
  readonly reasoning_type:
    | "chain_of_thought"
    | "tree_of_thoughts"
    | "re_act"
    | "reflexion"
    | { readonly other: string };
  readonly problem_statement: string;
  readonly hints?: readonly string[] | undefined;
}

/** Hints for reasoning, or a block that turns thinking off. */
type ReasoningDecision =
  | { readonly decision: "allow"; readonly hints?: Optional<readonly string[]> }
  | { readonly decision: "block"; readonly reason: string };

/** The kind of limit. */
export type RateLimitType =
  | "llm_token_limit"
  | "llm_request_limit"
  | "api_request_limit"
  | "tool_execution_limit"
  | { readonly custom: string };

/** Payload of `rate_limit`. */
interface RateLimitPayload {
  readonly session_id: string;
  readonly limit_type: RateLimitType;
  readonly retry_after_ms: number;
  readonly current_usage: string;
}

/** How to handle a limit. */
type RateLimitDecision =
  | { readonly decision: "retry"; readonly retry_after_ms: number }
  | { readonly decision: "queue" }
  | { readonly decision: "skip"; readonly reason: string };

/** The reason for a confirmation. */
export type ConfirmationType =
  | "safety_confirm"
  | "user_confirm"
  | "cost_confirm"
  | { readonly custom: string };

/** Payload of `confirmation`. */
interface ConfirmationPayload {
  readonly session_id: string;
  readonly confirmation_type: ConfirmationType;
  readonly message: string;
  readonly options?: readonly string[];
}

/** Approved, rejected, or escalated to a person. */
type ConfirmationDecision =
  | { readonly decision: "approve" }
  | { readonly decision: "reject"; readonly reason: string }
  | { readonly decision: "escalate" };

/** Payload of `idle`. */
interface IdlePayload {
  readonly idle_duration_ms: number;
  readonly idle_reason: string;
  readonly last_event_type?: string | undefined;
  readonly suggested_action?: string | undefined;
}

/** Whether background work may run. */
type IdleDecision =
  | { readonly decision: "allow" }
  | { readonly decision: "defer"; readonly reason?: Optional<string> };

/** Events that expect a decision, with their payloads and decisions. */
export interface DecisionEvents {
  readonly pre_prompt: { readonly payload: PrePromptPayload; readonly decision: Decision };
  readonly intent_detection: {
    readonly payload: IntentDetectionPayload;
    readonly decision: IntentDetectionDecision;
  };
  readonly context_perception: {
    readonly payload: ContextPerceptionPayload;
    readonly decision: ContextPerceptionDecision;
  };
  readonly memory_recall: { readonly payload: MemoryRecallPayload; readonly decision: MemoryRecallDecision };
  readonly planning: { readonly payload: PlanningPayload; readonly decision: PlanningDecision };
  readonly reasoning: { readonly payload: ReasoningPayload; readonly decision: ReasoningDecision };
  readonly rate_limit: { readonly payload: RateLimitPayload; readonly decision: RateLimitDecision };
  readonly confirmation: { readonly payload: ConfirmationPayload; readonly decision: ConfirmationDecision };
  readonly idle: { readonly payload: IdlePayload; readonly decision: IdleDecision };
}

export type DecisionEventType = keyof DecisionEvents;
