import type { AskedEvents, AskedEventType } from "./events.ts";
import type { ToldEvents, ToldEventType } from "./told-events.ts";

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
  ask<Type extends AskedEventType>(
    type: Type,
    payload: AskedEvents[Type]["payload"],
    call: ControlCall,
  ): Promise<AskedEvents[Type]["decision"]>;
  tell<Type extends ToldEventType>(
    type: Type,
    payload: ToldEvents[Type],
    call?: Pick<ControlCall, "sessionId">,
  ): void;
  /** Counts what a request to a model used towards limits. The next request is decided after that. */
  charge(
    usage: { readonly tokens: number; readonly cost?: number },
    call: Pick<ControlCall, "sessionId">,
  ): Promise<void>;
}
