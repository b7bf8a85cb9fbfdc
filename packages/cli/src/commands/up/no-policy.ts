import {
  type AhpEvent,
  type BlockingEventType,
  closedDecision,
  type Decision,
  type DecisionFor,
  type EventType,
  type Handlers,
  isBlocking,
} from "@reins/ahp";
import { textOf } from "../../errors/render.ts";
import type { Verdict } from "./record/drafts.ts";
import type { Recorder } from "./record/recorder.ts";

/** What every agent is told as long as there is no policy. */
export const NO_POLICY =
  "No policy is loaded, so Reins allows nothing. To decide by rules of your own, run: " +
  "reins ahp serve --http --handlers <file>";

const BLOCKED: Verdict = { verdict: "blocked", reason: "no policy is loaded" };

/** Events that begin and end a session. */
const LIFECYCLE: ReadonlySet<EventType> = new Set(["session_start", "session_end"]);

/** Told of every event: what it was, and `undefined` or the decision it got. */
export type Witness = (event: AhpEvent, decision: string | undefined) => void;

/**
 * The harness of a Reins without a policy. Whatever waits for a decision is decided against, and that is on disk before
 * it is told; whatever only reports is taken note of.
 */
export function withoutPolicy(recorder: Pick<Recorder, "verdict" | "session">, witness: Witness): Handlers {
  const decideAgainst = async <Type extends BlockingEventType>(
    type: Type,
    event: AhpEvent,
  ): Promise<DecisionFor<Type>> => {
    const answer = closedDecision(type, await reasonFor(event, recorder));
    witness(event, answer.decision);
    return answer;
  };
  const takeNote = async (event: AhpEvent): Promise<void> => {
    if (LIFECYCLE.has(event.event_type)) await recorder.session(event);
    witness(event, undefined);
  };
  return {
    async event(event): Promise<Decision> {
      // Every event that is not of a family gets the same kind of decision.
      if (isBlocking(event.event_type)) return decideAgainst("pre_action", event);
      await takeNote(event);
      return { decision: "allow" };
    },
    notification: takeNote,
    idle: (_, { event }) => decideAgainst("idle", event),
    context_perception: (_, { event }) => decideAgainst("context_perception", event),
    memory_recall: (_, { event }) => decideAgainst("memory_recall", event),
    planning: (_, { event }) => decideAgainst("planning", event),
    reasoning: (_, { event }) => decideAgainst("reasoning", event),
    rate_limit: (_, { event }) => decideAgainst("rate_limit", event),
    confirmation: (_, { event }) => decideAgainst("confirmation", event),
    intent_detection: (_, { event }) => decideAgainst("intent_detection", event),
  };
}

/** Records the verdict. One that cannot be recorded is the same, for another reason. */
async function reasonFor(event: AhpEvent, recorder: Pick<Recorder, "verdict">): Promise<string> {
  try {
    await recorder.verdict(event, BLOCKED);
    return NO_POLICY;
  } catch (error) {
    return `Nothing can be recorded, so Reins allows nothing: ${textOf(error)}`;
  }
}
