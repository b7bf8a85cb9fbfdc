import type { z } from "zod";
import { RunLifecycleEvent, TaskListEvent, VerificationEvent } from "./contracts.ts";
import {
  ConfirmationDecision,
  ContextPerceptionDecision,
  Decision,
  IdleDecision,
  IntentDetectionDecision,
  MemoryRecallDecision,
  PlanningDecision,
  RateLimitDecision,
  ReasoningDecision,
} from "./decisions.ts";
import type { BlockingEventType, EventType } from "./event.ts";
import {
  ConfirmationEvent,
  IdleEvent,
  IntentDetectionEvent,
  MemoryRecallEvent,
  PlanningEvent,
  RateLimitEvent,
  ReasoningEvent,
} from "./payloads.ts";
import { ContextPerceptionEvent } from "./perception.ts";

/** The decision that answers each blocking event. */
export const DECISIONS = {
  pre_action: Decision,
  pre_prompt: Decision,
  handshake: Decision,
  query: Decision,
  idle: IdleDecision,
  context_perception: ContextPerceptionDecision,
  memory_recall: MemoryRecallDecision,
  planning: PlanningDecision,
  reasoning: ReasoningDecision,
  rate_limit: RateLimitDecision,
  confirmation: ConfirmationDecision,
  intent_detection: IntentDetectionDecision,
} as const satisfies Record<BlockingEventType, z.ZodType>;

/** The payloads that are checked; every other event carries what it likes. */
export const PAYLOADS = {
  idle: IdleEvent,
  context_perception: ContextPerceptionEvent,
  memory_recall: MemoryRecallEvent,
  planning: PlanningEvent,
  reasoning: ReasoningEvent,
  rate_limit: RateLimitEvent,
  confirmation: ConfirmationEvent,
  intent_detection: IntentDetectionEvent,
  run_lifecycle: RunLifecycleEvent,
  task_list: TaskListEvent,
  verification: VerificationEvent,
} as const satisfies Partial<Record<EventType, z.ZodType>>;

/** Decisions by event type. */
export type Decisions = { [Type in BlockingEventType]: z.infer<(typeof DECISIONS)[Type]> };
/** Checked payloads by event type. */
export type Payloads = { [Type in keyof typeof PAYLOADS]: z.infer<(typeof PAYLOADS)[Type]> };

/** The decision of a blocking event. */
export type DecisionFor<Type extends BlockingEventType> = Decisions[Type];

/** The payload of an event as its sender may write it: members with a default may be left out. */
export type PayloadFor<Type extends EventType> = Type extends keyof typeof PAYLOADS
  ? z.input<(typeof PAYLOADS)[Type]>
  : unknown;

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

/** The decision that allows nothing: the result of a blocking event that got no valid decision. */
export function closedDecision<Type extends BlockingEventType>(
  type: Type,
  reason: string,
): DecisionFor<Type> {
  return CLOSED[type](reason);
}

function block(reason: string) {
  return { decision: "block" as const, reason };
}
