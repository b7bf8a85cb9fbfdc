import type { DecisionEvents, DecisionEventType } from "@reins/agent";
import type { Harness } from "@reins/supervisor";

/** The events that an operator may have answered by a harness of their own. */
type Family = Exclude<DecisionEventType, "pre_prompt">;

/** What answers the events of each family in place of the defaults; nothing where nobody does. */
export type Advisers = {
  readonly [Type in Family]: (
    payload: DecisionEvents[Type]["payload"],
  ) => Promise<DecisionEvents[Type]["decision"] | undefined>;
};

/** The harnesses that the constitution of a tenant names, for those families that they say they answer. */
export function advisersFrom(harness: Pick<Harness, "advise">, tenant: string): Advisers {
  return {
    intent_detection: (payload) => harness.advise(tenant, "intent_detection", payload),
    context_perception: (payload) => harness.advise(tenant, "context_perception", payload),
    memory_recall: (payload) => harness.advise(tenant, "memory_recall", payload),
    planning: ({ available_strategies, ...payload }) =>
      harness.advise(tenant, "planning", {
        ...payload,
        available_strategies: [...available_strategies],
      }),
    reasoning: (payload) => harness.advise(tenant, "reasoning", payload),
    rate_limit: (payload) => harness.advise(tenant, "rate_limit", payload),
    confirmation: (payload) => harness.advise(tenant, "confirmation", payload),
    idle: (payload) => harness.advise(tenant, "idle", payload),
  };
}
