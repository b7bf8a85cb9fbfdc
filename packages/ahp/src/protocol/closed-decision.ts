import type { BlockingEventType } from "./event-type.ts";
import type { DecisionFor } from "./families.ts";

const CLOSED: { readonly [Type in BlockingEventType]: (reason: string) => DecisionFor<Type> } = {
  pre_action: block,
  pre_prompt: block,
  handshake: block,
  query: block,
  idle: (reason) => ({ decision: "defer", reason }),
  context_perception: block,
  memory_recall: block,
  planning: block,
  reasoning: block,
  rate_limit: (reason) => ({ decision: "skip", reason }),
  confirmation: (reason) => ({ decision: "reject", reason }),
  intent_detection: block,
};

/** The decision that lets nothing happen: what a blocking event gets when nobody could decide. */
export function closedDecision<Type extends BlockingEventType>(
  type: Type,
  reason: string,
): DecisionFor<Type> {
  return CLOSED[type](reason);
}

function block(reason: string) {
  return { decision: "block" as const, reason };
}
