import type { z } from "zod";
import { choice, list, listOrNothing, map, optional, struct, text, u64 } from "../wire/schema.ts";
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

/** The state of a run. */
export const RunStatus = choice("RunStatus", [
  "created",
  "planning",
  "executing",
  "verifying",
  "completed",
  "failed",
  "cancelled",
]);
export type RunStatus = z.infer<typeof RunStatus>;

/** Payload of `run_lifecycle`: a durable change of state of one run. */
export const RunLifecycleEvent = struct("RunLifecycleEvent", {
  run_id: text,
  session_id: text,
  status: RunStatus,
  prompt: optional(text),
  result_summary: optional(text),
  error: optional(text),
  started_at: optional(text),
  updated_at: text,
  metadata: optional(map),
});
export type RunLifecycleEvent = z.infer<typeof RunLifecycleEvent>;

/** Something kept that can be looked at later. */
export const ArtifactRef = struct("ArtifactRef", {
  id: text,
  kind: optional(text),
  uri: optional(text),
  path: optional(text),
  mime_type: optional(text),
  sha256: optional(text),
  size_bytes: optional(u64),
  summary: optional(text),
});
export type ArtifactRef = z.infer<typeof ArtifactRef>;

/** What speaks for a claim. */
export const EvidenceRef = struct("EvidenceRef", {
  kind: text,
  summary: text,
  artifact: optional(ArtifactRef),
  metadata: optional(map),
});
export type EvidenceRef = z.infer<typeof EvidenceRef>;

/** The state of a task. */
export const TaskStatus = choice("TaskStatus", [
  "pending",
  "in_progress",
  "completed",
  "failed",
  "skipped",
  "cancelled",
]);
export type TaskStatus = z.infer<typeof TaskStatus>;

/** One task of a run. */
export const TaskItem = struct("TaskItem", {
  id: text,
  title: text,
  status: TaskStatus,
  depends_on: listOrNothing(text),
  evidence: listOrNothing(EvidenceRef),
  artifacts: listOrNothing(ArtifactRef),
  error: optional(text),
  updated_at: optional(text),
  metadata: optional(map),
});
export type TaskItem = z.infer<typeof TaskItem>;

/** Payload of `task_list`: the whole task graph as it is now. */
export const TaskListEvent = struct("TaskListEvent", {
  run_id: text,
  session_id: text,
  tasks: list(TaskItem),
  updated_at: text,
  metadata: optional(map),
});
export type TaskListEvent = z.infer<typeof TaskListEvent>;

/** The state of a verification, or of one check of it. */
export const VerificationStatus = choice("VerificationStatus", [
  "pending",
  "running",
  "passed",
  "failed",
  "skipped",
  "needs_review",
]);
export type VerificationStatus = z.infer<typeof VerificationStatus>;

/** One check of a verification. */
export const VerificationCheck = struct("VerificationCheck", {
  id: text,
  subject: text,
  status: VerificationStatus,
  command: optional(text),
  message: optional(text),
  evidence: listOrNothing(EvidenceRef),
  artifacts: listOrNothing(ArtifactRef),
  metadata: optional(map),
});
export type VerificationCheck = z.infer<typeof VerificationCheck>;

/** Payload of `verification`: what was checked, and what risk remains. */
export const VerificationEvent = struct("VerificationEvent", {
  run_id: text,
  session_id: text,
  status: VerificationStatus,
  checks: listOrNothing(VerificationCheck),
  residual_risks: listOrNothing(text),
  updated_at: text,
  metadata: optional(map),
});
export type VerificationEvent = z.infer<typeof VerificationEvent>;

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
