import { type AhpEvent, closedDecision, type Decision, type Handlers, isBlocking } from "@reins/ahp";

/** What every agent is told as long as there is no policy. */
export const NO_POLICY =
  "No policy is loaded, so Reins allows nothing. To decide by rules of your own, run: " +
  "reins ahp serve --http --handlers <file>";

/** Told of every event: what it was, and `undefined` or the decision it got. */
export type Witness = (event: AhpEvent, decision: string | undefined) => void;

/**
 * The harness of a Reins without a policy. Whatever waits for a decision is decided against; whatever only reports is
 * taken note of.
 */
export function withoutPolicy(witness: Witness): Handlers {
  const seen = <Answer extends { readonly decision: string }>(event: AhpEvent, answer: Answer): Answer => {
    witness(event, answer.decision);
    return answer;
  };
  return {
    event: (event) => seen(event, decide(event)),
    notification: (event) => witness(event, undefined),
    idle: (_, { event }) => seen(event, closedDecision("idle", NO_POLICY)),
    context_perception: (_, { event }) => seen(event, closedDecision("context_perception", NO_POLICY)),
    memory_recall: (_, { event }) => seen(event, closedDecision("memory_recall", NO_POLICY)),
    planning: (_, { event }) => seen(event, closedDecision("planning", NO_POLICY)),
    reasoning: (_, { event }) => seen(event, closedDecision("reasoning", NO_POLICY)),
    rate_limit: (_, { event }) => seen(event, closedDecision("rate_limit", NO_POLICY)),
    confirmation: (_, { event }) => seen(event, closedDecision("confirmation", NO_POLICY)),
    intent_detection: (_, { event }) => seen(event, closedDecision("intent_detection", NO_POLICY)),
  };
}

/** An event that only reports can stand in a batch, and nothing happens because of it. */
function decide({ event_type }: AhpEvent): Decision {
  return isBlocking(event_type) ? { decision: "block", reason: NO_POLICY } : { decision: "allow" };
}
