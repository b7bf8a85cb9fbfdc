import type { TokenUsage } from "../history/entry.ts";
import type { DecisionEvents, DecisionEventType, ReportEvents, ReportEventType } from "./events.ts";

/** Context of a control event. */
export interface ControlCall {
  /** The agent's id of the session; absent for events of all sessions. */
  readonly sessionId?: string;
  /** Aborts when the decision is no longer needed. */
  readonly signal: AbortSignal;
}

/** What a model request used: all its tokens, what they cost where the price is known, and the tokens by kind. */
export interface ChargedUsage {
  readonly tokens: number;
  readonly cost?: number;
  readonly kinds?: TokenUsage;
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
  charge(usage: ChargedUsage, call: Pick<ControlCall, "sessionId">): Promise<void>;
}
