import type { DecisionEvents, DecisionEventType } from "./events.ts";

/** Context of a control event. */
export interface ControlCall {
  /** The agent's id of the session; absent for events of all sessions. */
  readonly sessionId?: string;
  /** Aborts when the decision is no longer needed. */
  readonly signal: AbortSignal;
}

/**
 * Decides control events that only the agent can see, in AHP's terms. The agent obeys: a blocked step is not done, a
 * modified one is done as modified, and a missing decision blocks.
 */
export interface ControlPort {
  ask<Type extends DecisionEventType>(
    type: Type,
    payload: DecisionEvents[Type]["payload"],
    call: ControlCall,
  ): Promise<DecisionEvents[Type]["decision"]>;
  report<Type extends ReportEventType>(
    type: Type,
    payload: ReportEvents[Type],
    call?: Pick<ControlCall, "sessionId">,
  ): void;
  /** Charges the tokens of a model request to limits, before the next request is decided. */
  charge(
    usage: { readonly tokens: number; readonly cost?: number },
    call: Pick<ControlCall, "sessionId">,
  ): Promise<void>;
}

/** Payload of `heartbeat`. */
interface HeartbeatPayload {
  readonly uptime_ms: number;
  readonly total_events_processed: number;
  readonly current_state: string;
  readonly memory_bytes: number;
  /** Turns in progress. */
  readonly pending_actions: number;
}

/** Payload of `success`. */
interface SuccessPayload {
  readonly session_id: string;
  readonly action_type: string;
  readonly action_summary: string;
  readonly duration_ms: number;
}

/** Payload of `error`. */
interface ErrorPayload {
  readonly session_id: string;
  /** Machine-readable. */
  readonly code: string;
  readonly message: string;
  /** Whether a retry can help. */
  readonly retryable: boolean;
  readonly tool?: string;
}

/** Payload of `run_lifecycle`. A run is one turn. */
export interface RunLifecyclePayload {
  readonly run_id: string;
  readonly session_id: string;
  readonly status: "created" | "planning" | "executing" | "verifying" | "completed" | "failed" | "cancelled";
  readonly prompt?: string;
  readonly result_summary?: string;
  readonly error?: string;
  readonly started_at: string;
  readonly updated_at: string;
}

/** Payload of `task_list`: the current plan. */
interface TaskListPayload {
  readonly run_id: string;
  readonly session_id: string;
  readonly tasks: readonly {
    readonly id: string;
    readonly title: string;
    readonly status: "pending" | "in_progress" | "completed";
  }[];
  readonly updated_at: string;
}

/** Payload of `verification`: checks and their results. */
interface VerificationPayload {
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
}

/** Events that expect no decision, with their payloads. */
export interface ReportEvents {
  readonly heartbeat: HeartbeatPayload;
  readonly success: SuccessPayload;
  readonly error: ErrorPayload;
  readonly run_lifecycle: RunLifecyclePayload;
  readonly task_list: TaskListPayload;
  readonly verification: VerificationPayload;
}

export type ReportEventType = keyof ReportEvents;
