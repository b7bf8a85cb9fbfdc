type Optional<Value> = Value | null | undefined;
type Block = { readonly decision: "block"; readonly reason: string };

/** A known fact with its source. */
export interface Fact {
  readonly content: string;
  readonly source: string;
  /** From 0 to 1. */
  readonly confidence: number;
}

/** The target of a detected intent. */
export interface TargetHints {
  readonly target_type?: Optional<string>;
  readonly target_name?: Optional<string>;
  readonly domain?: Optional<string>;
}

/** The purpose of the requested context. */
export type PerceptionIntent =
  | ("recognize" | "understand" | "locate" | "retrieve" | "explore")
  | ("reason" | "validate" | "compare" | "track");

/** The domain of the work. */
export type PerceptionDomain =
  | ("coding" | "writing" | "data_analysis" | "research" | "project_management")
  | ("conversation" | "operations" | "security" | "general");

/** The target of perception. The agent asks about locations; a `refine` decision may name any other. */
export type PerceptionTarget =
  | { location: { path: string; location_type: string } }
  | { entity: { name: string; entity_type: string; identifier?: Optional<string> } }
  | { event: { description: string; event_type: string; time_range?: Optional<TimeRange> } }
  | { relation: { entities: string[]; relation_type: string } }
  | { rule: { name: string; rule_type: string; scope?: Optional<string> } }
  | { state: { target: string; aspect: string; include_history: boolean } }
  | { resource: { name: string; resource_type: string; constraints?: unknown } }
  | { pattern: { pattern: string; pattern_type: string } };

interface TimeRange {
  from?: Optional<number>;
  to?: Optional<number>;
  relative?: unknown;
}

/** Context that is added to the prompt. */
export interface InjectedContext {
  readonly facts: readonly Fact[];
  readonly file_contents?: Optional<readonly FileSnippet[]>;
  readonly project_summary?: Optional<ProjectSummary>;
  readonly knowledge?: Optional<readonly string[]>;
  readonly suggestions?: Optional<readonly string[]>;
}

/** A quoted part of a file. */
export interface FileSnippet {
  readonly path: string;
  readonly snippet: string;
  readonly relevance_score: number;
}

/** A summary of a project. */
export interface ProjectSummary {
  readonly project_name: string;
  readonly language?: Optional<string>;
  readonly key_files?: Optional<readonly string[]>;
  readonly structure_description: string;
}

/** A planning strategy. */
export type PlanningStrategy =
  | ("none" | "step_by_step" | "tree_of_thoughts" | "graph_planning")
  | { readonly custom: string };

/** The kind of limit. */
export type RateLimitType =
  | ("llm_token_limit" | "llm_request_limit" | "api_request_limit" | "tool_execution_limit")
  | { readonly custom: string };

/** The reason for a confirmation. */
export type ConfirmationType =
  | ("safety_confirm" | "user_confirm" | "cost_confirm")
  | { readonly custom: string };

/** Events that expect a decision, with their payloads and decisions. */
export interface DecisionEvents {
  /** A request that is about to be sent to a model. `allow` or `block` is already the person's answer, if one was asked. */
  readonly pre_prompt: {
    readonly payload: {
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
    };
    readonly decision:
      | { readonly decision: "allow"; readonly modified_payload?: unknown }
      | { readonly decision: "modify"; readonly modified_payload: unknown }
      | { readonly decision: "defer"; readonly retry_after_ms: number; readonly reason?: Optional<string> }
      | { readonly decision: "escalate"; readonly reason: string }
      | Block;
  };
  readonly intent_detection: {
    readonly payload: {
      readonly session_id: string;
      readonly prompt: string;
      readonly workspace: string;
      readonly language_hint?: string | undefined;
    };
    readonly decision:
      | {
          readonly decision: "allow";
          readonly detected_intent: string;
          readonly confidence: number;
          readonly target_hints?: Optional<TargetHints>;
        }
      | Block;
  };
  readonly context_perception: {
    readonly payload: {
      readonly session_id: string;
      readonly intent: PerceptionIntent;
      readonly target: PerceptionTarget;
      readonly domain?: PerceptionDomain | undefined;
      readonly context: {
        readonly workspace: string;
        readonly current_task?: string | undefined;
        readonly query?: string | undefined;
      };
      readonly constraints?: {
        readonly max_results: number | null;
        /** In characters. */
        readonly max_context_length: number | null;
        readonly include_sources?: boolean | undefined;
      };
    };
    readonly decision:
      | { readonly decision: "allow"; readonly injected_context: InjectedContext }
      | {
          readonly decision: "refine";
          readonly refined_intent: PerceptionIntent | null;
          readonly refined_target: PerceptionTarget | null;
          readonly scope_hints: readonly string[];
        }
      | Block;
  };
  readonly memory_recall: {
    readonly payload: {
      readonly session_id: string;
      readonly query: string;
      readonly memory_type: string;
      readonly max_results: number;
      readonly working_directory: string;
    };
    readonly decision: { readonly decision: "allow"; readonly injected_facts: readonly Fact[] } | Block;
  };
  readonly planning: {
    readonly payload: {
      readonly session_id: string;
      readonly task_description: string;
      readonly available_strategies: readonly PlanningStrategy[];
      readonly constraints?: unknown;
    };
    readonly decision:
      | {
          readonly decision: "allow";
          readonly selected_strategy: PlanningStrategy;
          readonly planning_template?: unknown;
        }
      | {
          readonly decision: "modify";
          readonly modified_task: string;
          readonly hints?: Optional<readonly string[]>;
        }
      | Block;
  };
  /** Hints for reasoning, or a block that turns thinking off. */
  readonly reasoning: {
    readonly payload: {
      readonly session_id: string;
      readonly reasoning_type:
        | ("chain_of_thought" | "tree_of_thoughts" | "re_act" | "reflexion")
        | { readonly other: string };
      readonly problem_statement: string;
      readonly hints?: readonly string[] | undefined;
    };
    readonly decision: { readonly decision: "allow"; readonly hints?: Optional<readonly string[]> } | Block;
  };
  readonly rate_limit: {
    readonly payload: {
      readonly session_id: string;
      readonly limit_type: RateLimitType;
      readonly retry_after_ms: number;
      readonly current_usage: string;
    };
    readonly decision:
      | { readonly decision: "retry"; readonly retry_after_ms: number }
      | { readonly decision: "queue" }
      | { readonly decision: "skip"; readonly reason: string };
  };
  readonly confirmation: {
    readonly payload: {
      readonly session_id: string;
      readonly confirmation_type: ConfirmationType;
      readonly message: string;
      readonly options?: readonly string[];
    };
    /** `escalate` asks a person. */
    readonly decision:
      | { readonly decision: "approve" | "escalate" }
      | { readonly decision: "reject"; readonly reason: string };
  };
  /** Whether background work may run. */
  readonly idle: {
    readonly payload: {
      readonly idle_duration_ms: number;
      readonly idle_reason: string;
      readonly last_event_type?: string | undefined;
      readonly suggested_action?: string | undefined;
    };
    readonly decision:
      | { readonly decision: "allow" }
      | { readonly decision: "defer"; readonly reason?: Optional<string> };
  };
}

export type DecisionEventType = keyof DecisionEvents;

/** Events that expect no decision, with their payloads. */
export interface ReportEvents {
  readonly heartbeat: {
    readonly uptime_ms: number;
    readonly total_events_processed: number;
    readonly current_state: string;
    readonly memory_bytes: number;
    /** Turns in progress. */
    readonly pending_actions: number;
  };
  readonly success: {
    readonly session_id: string;
    readonly action_type: string;
    readonly action_summary: string;
    readonly duration_ms: number;
  };
  readonly error: {
    readonly session_id: string;
    /** Machine-readable. */
    readonly code: string;
    readonly message: string;
    /** Whether a retry can help. */
    readonly retryable: boolean;
    readonly tool?: string;
  };
  /** A run is one turn. */
  readonly run_lifecycle: {
    readonly run_id: string;
    readonly session_id: string;
    readonly status:
      | ("created" | "planning" | "executing" | "verifying")
      | ("completed" | "failed" | "cancelled");
    readonly prompt?: string;
    readonly result_summary?: string;
    readonly error?: string;
    readonly started_at: string;
    readonly updated_at: string;
  };
  /** The current plan. */
  readonly task_list: {
    readonly run_id: string;
    readonly session_id: string;
    readonly tasks: readonly {
      readonly id: string;
      readonly title: string;
      readonly status: "pending" | "in_progress" | "completed";
    }[];
    readonly updated_at: string;
  };
  /** Checks and their results. */
  readonly verification: {
    readonly run_id: string;
    readonly session_id: string;
    readonly status: "passed" | "failed";
    readonly checks: readonly {
      readonly id: string;
      readonly subject: string;
      readonly status: "passed" | "failed";
      readonly command: string;
      readonly message: string;
    }[];
    readonly updated_at: string;
  };
}

export type ReportEventType = keyof ReportEvents;
