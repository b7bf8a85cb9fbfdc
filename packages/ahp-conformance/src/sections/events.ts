import { type BlockingEventType, EventType, type FireAndForgetEventType, isBlocking, RPC } from "@reins/ahp";
import type { Check, Section } from "../check.ts";
import { expectError, expectNotificationRefused, expectResult, expectUnanswered } from "../expect.ts";
import { event } from "../messages.ts";
import { kebab } from "./kebab.ts";

/** Which harness must decide on by itself; everything else it may say it does not support. */
const ALWAYS_DECIDED: readonly EventType[] = ["pre_action", "pre_prompt"];

/** Every event type, the way it must travel and the way it must not. */
export const events: Section = {
  section: "Events",
  reference: "Event Types; Message Model",
  checks: EventType.options.flatMap((type): Check[] =>
    isBlocking(type) ? blockingChecks(type) : fireAndForgetChecks(type),
  ),
};

function blockingChecks(type: BlockingEventType): Check[] {
  const decided = ALWAYS_DECIDED.includes(type);
  return [
    {
      id: `event-${kebab(type)}-answered`,
      title: decided
        ? `${type} is answered with a decision`
        : `${type} is answered, or refused with -32603 where it is not supported`,
      level: "must",
      run: async (probe) => {
        const answer = await probe.decide(type);
        if (decided || !answer.error) expectResult(answer, type);
        else expectError(answer, [RPC.internalError], type);
      },
    },
    {
      id: `event-${kebab(type)}-not-notified`,
      title: `${type} is not accepted as a notification`,
      level: "must",
      run: async (probe) => expectNotificationRefused(await probe.notify(event(type))),
    },
  ];
}

function fireAndForgetChecks(type: FireAndForgetEventType): Check[] {
  return [
    {
      id: `event-${kebab(type)}-noted`,
      title: `${type} is accepted as a notification, in silence`,
      level: "must",
      run: async (probe) => expectUnanswered(await probe.notify(event(type))),
    },
    {
      id: `event-${kebab(type)}-not-requested`,
      title: `${type} is refused with -32602 as a request`,
      level: "must",
      run: async (probe) => {
        expectError(await probe.call("ahp/event", event(type)), [RPC.invalidParams], type);
      },
    },
  ];
}
