import { z } from "zod";
import {
  any,
  boolean,
  choice,
  defaulted,
  external,
  i64,
  list,
  map,
  nullable,
  optional,
  struct,
  text,
  usize,
} from "../wire/schema.ts";

/** What the agent wants to do with the context it asks for. */
export const PerceptionIntent = choice("PerceptionIntent", [
  "recognize",
  "understand",
  "locate",
  "retrieve",
  "explore",
  "reason",
  "validate",
  "compare",
  "track",
]);
export type PerceptionIntent = z.infer<typeof PerceptionIntent>;

/** The field of work. */
export const PerceptionDomain = choice("PerceptionDomain", [
  "coding",
  "writing",
  "data_analysis",
  "research",
  "project_management",
  "conversation",
  "operations",
  "security",
  "general",
]);
export type PerceptionDomain = z.infer<typeof PerceptionDomain>;

/** The form in which context is wanted. */
export const PerceptionModality = choice("PerceptionModality", [
  "text",
  "code",
  "structured_data",
  "table",
  "chart",
  "image",
  "audio",
  "video",
  "any",
]);
export type PerceptionModality = z.infer<typeof PerceptionModality>;

/** How soon. */
export const PerceptionUrgency = choice("PerceptionUrgency", ["critical", "high", "normal", "low"]);
export type PerceptionUrgency = z.infer<typeof PerceptionUrgency>;

/** How fresh. */
export const PerceptionFreshness = choice("PerceptionFreshness", ["realtime", "recent", "static"]);
export type PerceptionFreshness = z.infer<typeof PerceptionFreshness>;

/** A span of time; the protocol leaves the unit of the integers open. */
export const TimeRange = struct("TimeRange", {
  from: nullable(i64),
  to: nullable(i64),
  relative: optional(text),
});
export type TimeRange = z.infer<typeof TimeRange>;

/** What the context is to be about. */
export const PerceptionTarget = external("PerceptionTarget", [
  z.strictObject({ entity: struct("Entity", { name: text, entity_type: text, identifier: nullable(text) }) }),
  z.strictObject({ location: struct("Location", { path: text, location_type: text }) }),
  z.strictObject({
    event: struct("Event", { description: text, event_type: text, time_range: nullable(TimeRange) }),
  }),
  z.strictObject({ relation: struct("Relation", { entities: list(text), relation_type: text }) }),
  z.strictObject({ rule: struct("Rule", { name: text, rule_type: text, scope: nullable(text) }) }),
  z.strictObject({ state: struct("State", { target: text, aspect: text, include_history: boolean }) }),
  z.strictObject({
    resource: struct("Resource", { name: text, resource_type: text, constraints: nullable(any) }),
  }),
  z.strictObject({ pattern: struct("Pattern", { pattern: text, pattern_type: text }) }),
]);
export type PerceptionTarget = z.infer<typeof PerceptionTarget>;

/** How much may come back. */
export const PerceptionConstraints = struct("PerceptionConstraints", {
  max_results: nullable(usize),
  max_context_length: nullable(usize),
  include_sources: defaulted(boolean.default(true)),
});
export type PerceptionConstraints = z.infer<typeof PerceptionConstraints>;

/** Something that happened before. */
export const HistoryItem = struct("HistoryItem", { item_type: text, content: text, timestamp: i64 });
export type HistoryItem = z.infer<typeof HistoryItem>;

/** Where the agent stands. */
export const PerceptionContext = struct("PerceptionContext", {
  workspace: text,
  current_task: optional(text),
  query: optional(text),
  relevant_history: optional(list(HistoryItem)),
});
export type PerceptionContext = z.infer<typeof PerceptionContext>;

const unconstrained = { max_results: null, max_context_length: null, include_sources: true };

/** Payload of `context_perception`. */
export const ContextPerceptionEvent = struct("ContextPerceptionEvent", {
  session_id: text,
  intent: PerceptionIntent,
  target: PerceptionTarget,
  domain: defaulted(PerceptionDomain.default("general")),
  preferred_modality: defaulted(PerceptionModality.default("any")),
  urgency: defaulted(PerceptionUrgency.default("normal")),
  freshness: defaulted(PerceptionFreshness.default("static")),
  context: PerceptionContext,
  constraints: defaulted(PerceptionConstraints.default(() => ({ ...unconstrained }))),
  metadata: optional(map),
});
export type ContextPerceptionEvent = z.infer<typeof ContextPerceptionEvent>;
