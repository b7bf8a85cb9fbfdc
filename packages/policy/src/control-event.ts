/** The control events that there are. The names are those of the Agent Harness Protocol. */
export const CONTROL_EVENTS = [
  "handshake",
  "pre_action",
  "post_action",
  "pre_prompt",
  "post_response",
  "session_start",
  "session_end",
  "error",
  "query",
  "heartbeat",
  "idle",
  "context_perception",
  "success",
  "memory_recall",
  "planning",
  "reasoning",
  "rate_limit",
  "confirmation",
  "intent_detection",
  "run_lifecycle",
  "task_list",
  "verification",
] as const;

/** A step of an agent that is decided on, or noted. The names are those of the Agent Harness Protocol. */
export interface ControlEvent {
  readonly event_type: string;
  readonly session_id: string;
  readonly agent_id: string;
  readonly depth: number;
  readonly payload: unknown;
  /** What the agent sent beside it, where it speaks the protocol itself. */
  readonly timestamp?: string;
  readonly context?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}
