import type { z } from "zod";
import {
  answer,
  any,
  decision,
  f32,
  list,
  map,
  nullable,
  optional,
  struct,
  text,
  u64,
} from "../wire/schema.ts";
import { Fact } from "./event.ts";
import { PlanningStrategy } from "./payloads.ts";
import { PerceptionIntent, PerceptionTarget } from "./perception.ts";

/** The generic decision, for `pre_action`, `pre_prompt` and everything in a batch. */
export const Decision = decision("Decision", [
  answer("allow", { modified_payload: optional(any), metadata: optional(map) }),
  answer("block", { reason: text, metadata: optional(map) }),
  answer("modify", { modified_payload: any, metadata: optional(map) }),
  answer("defer", { retry_after_ms: u64, reason: optional(text) }),
  answer("escalate", { reason: text, escalation_target: optional(text) }),
]);
export type Decision = z.infer<typeof Decision>;

/** Whether background work may run. */
export const IdleDecision = decision("IdleDecision", [
  answer("allow", {}),
  answer("defer", { reason: optional(text) }),
]);
export type IdleDecision = z.infer<typeof IdleDecision>;

/** What a detected intent points at. */
export const TargetHints = struct("TargetHints", {
  target_type: optional(text),
  target_name: optional(text),
  domain: optional(text),
});
export type TargetHints = z.infer<typeof TargetHints>;

/** What the person wants, and how sure that is. */
export const IntentDetectionDecision = decision("IntentDetectionDecision", [
  answer("allow", { detected_intent: text, confidence: f32, target_hints: optional(TargetHints) }),
  answer("block", { reason: text }),
]);
export type IntentDetectionDecision = z.infer<typeof IntentDetectionDecision>;

/** Part of a file that matters here. */
export const FileContentSnippet = struct("FileContentSnippet", {
  path: text,
  snippet: text,
  relevance_score: f32,
});
export type FileContentSnippet = z.infer<typeof FileContentSnippet>;

/** A project in a few lines. */
export const ProjectSummary = struct("ProjectSummary", {
  project_name: text,
  language: optional(text),
  key_files: optional(list(text)),
  structure_description: text,
});
export type ProjectSummary = z.infer<typeof ProjectSummary>;

/** What the harness adds to an agent's context. */
export const InjectedContext = struct("InjectedContext", {
  facts: list(Fact),
  file_contents: optional(list(FileContentSnippet)),
  project_summary: optional(ProjectSummary),
  knowledge: optional(list(text)),
  suggestions: optional(list(text)),
});
export type InjectedContext = z.infer<typeof InjectedContext>;

/** Context for the agent, or how to ask better. */
export const ContextPerceptionDecision = decision("ContextPerceptionDecision", [
  answer("allow", { injected_context: InjectedContext, metadata: optional(map) }),
  answer("block", { reason: text, metadata: optional(map) }),
  answer("refine", {
    refined_intent: nullable(PerceptionIntent),
    refined_target: nullable(PerceptionTarget),
    scope_hints: list(text),
  }),
]);
export type ContextPerceptionDecision = z.infer<typeof ContextPerceptionDecision>;

/** What memory holds about it. */
export const MemoryRecallDecision = decision("MemoryRecallDecision", [
  answer("allow", { injected_facts: list(Fact), metadata: optional(map) }),
  answer("block", { reason: text, metadata: optional(map) }),
]);
export type MemoryRecallDecision = z.infer<typeof MemoryRecallDecision>;

/** How to plan, or what to plan instead. */
export const PlanningDecision = decision("PlanningDecision", [
  answer("allow", {
    selected_strategy: PlanningStrategy,
    planning_template: optional(any),
    metadata: optional(map),
  }),
  answer("block", { reason: text, metadata: optional(map) }),
  answer("modify", { modified_task: text, hints: optional(list(text)) }),
]);
export type PlanningDecision = z.infer<typeof PlanningDecision>;

/** Hints for reasoning, or none of it. */
export const ReasoningDecision = decision("ReasoningDecision", [
  answer("allow", { hints: optional(list(text)), metadata: optional(map) }),
  answer("block", { reason: text, metadata: optional(map) }),
]);
export type ReasoningDecision = z.infer<typeof ReasoningDecision>;

/** What to do about a limit that was hit. */
export const RateLimitDecision = decision("RateLimitDecision", [
  answer("retry", { retry_after_ms: u64, metadata: optional(map) }),
  answer("queue", {}),
  answer("skip", { reason: text }),
]);
export type RateLimitDecision = z.infer<typeof RateLimitDecision>;

/** Approved, rejected, or handed on. The order is the one peers list in their errors. */
export const ConfirmationDecision = decision("ConfirmationDecision", [
  answer("escalate", {}),
  answer("approve", {}),
  answer("reject", { reason: text }),
]);
export type ConfirmationDecision = z.infer<typeof ConfirmationDecision>;
