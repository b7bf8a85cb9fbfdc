import type { DecisionEvents, DecisionEventType } from "./events.ts";

/** Whose event it is. */
export interface ControlCall {
  /** The session, by the agent's own id; absent for what concerns all of them. */
  readonly sessionId?: string;
  /** Aborts when nobody waits for the decision any more. */
  readonly signal: AbortSignal;
}

/**
 * The supervisor, for what only the agent itself can see. It decides in AHP's terms, and its decisions are obeyed: what
 * is blocked is not done, what is changed is done as changed. A decision that does not come is a block.
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
  /** Counts what a request to a model used towards limits. The next request is decided after that. */
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
  /** Turns that are under way. */
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
  /** A word for programs. */
  readonly code: string;
  readonly message: string;
  /** Whether trying again can help. */
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

/** Payload of `task_list`: the plan as it stands. */
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

/** Payload of `verification`: what was checked, and what came of it. */
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

/** Every event that nobody waits for. */
export interface ReportEvents {
  readonly heartbeat: HeartbeatPayload;
  readonly success: SuccessPayload;
  readonly error: ErrorPayload;
  readonly run_lifecycle: RunLifecyclePayload;
  readonly task_list: TaskListPayload;
  readonly verification: VerificationPayload;
}

/** The types of events that nobody waits for. */
export type ReportEventType = keyof ReportEvents;
