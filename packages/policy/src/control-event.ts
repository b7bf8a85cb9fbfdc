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
