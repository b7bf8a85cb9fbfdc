import type { z } from "zod";
import { any, choice, f32, i32, list, map, optional, struct, text, u32, u64, usize } from "../wire/schema.ts";

/** Every event of the protocol, in the order in which peers list them. */
export const EventType = choice("EventType", [
  "handshake",
  "pre_action",
  "post_action",
  "pre_prompt",
  "post_response",
  "session_start",
  "session_end",
  "error",
  "query",
  "heartbeat",
  "idle",
  "context_perception",
  "success",
  "memory_recall",
  "planning",
  "reasoning",
  "rate_limit",
  "confirmation",
  "intent_detection",
  "run_lifecycle",
  "task_list",
  "verification",
]);
export type EventType = z.infer<typeof EventType>;

/** Events whose decision has a shape of its own. They are blocking and cannot be batched. */
export const SPECIALISED_EVENT_TYPES = [
  "idle",
  "context_perception",
  "memory_recall",
  "planning",
  "reasoning",
  "rate_limit",
  "confirmation",
  "intent_detection",
] as const satisfies readonly EventType[];
export type SpecialisedEventType = (typeof SPECIALISED_EVENT_TYPES)[number];

/** Events that report durable state; their payload is checked even in notifications. */
export const CONTRACT_EVENT_TYPES = [
  "run_lifecycle",
  "task_list",
  "verification",
] as const satisfies readonly EventType[];
export type ContractEventType = (typeof CONTRACT_EVENT_TYPES)[number];

/** Blocking events that get the generic decision. `handshake` and `query` exist for taxonomy only. */
export const GENERIC_EVENT_TYPES = [
  "pre_action",
  "pre_prompt",
  "handshake",
  "query",
] as const satisfies readonly EventType[];
export type GenericEventType = (typeof GENERIC_EVENT_TYPES)[number];

/** Events whose sender waits for a decision. They travel as requests. */
export type BlockingEventType = GenericEventType | SpecialisedEventType;
/** Events without a decision, sent as notifications. */
export type FireAndForgetEventType = Exclude<EventType, BlockingEventType>;

const specialised = new Set<EventType>(SPECIALISED_EVENT_TYPES);
const contracts = new Set<EventType>(CONTRACT_EVENT_TYPES);
const generic = new Set<EventType>(GENERIC_EVENT_TYPES);

/** Whether the event has a decision shape of its own. */
export function isSpecialised(type: EventType): type is SpecialisedEventType {
  return specialised.has(type);
}

/** Whether the event is a durable runtime contract. */
export function isContract(type: EventType): type is ContractEventType {
  return contracts.has(type);
}

/** Whether the sender waits for a decision. */
export function isBlocking(type: EventType): type is BlockingEventType {
  return generic.has(type) || specialised.has(type);
}

/** Whether the event may stand in a batch, whose answers are generic decisions. */
export function isBatchable(type: EventType): boolean {
  return !specialised.has(type) && type !== "handshake" && type !== "query";
}

/** Something known, where it is from, and how sure that is. */
export const Fact = struct("Fact", { content: text, source: text, confidence: f32 });
export type Fact = z.infer<typeof Fact>;

/** What an agent's memory holds. */
export const MemorySummary = struct("MemorySummary", {
  memory_type: text,
  total_items: usize,
  recent_topics: list(text),
});
export type MemorySummary = z.infer<typeof MemorySummary>;

/** Counters of a session. */
export const SessionStats = struct("SessionStats", {
  total_actions: usize,
  total_tokens: i32,
  duration_ms: u64,
  error_count: usize,
});
export type SessionStats = z.infer<typeof SessionStats>;

/** What an agent reports about its surroundings with an event. */
export const EventContext = struct("EventContext", {
  recent_facts: optional(list(Fact)),
  memory_summary: optional(MemorySummary),
  session_stats: optional(SessionStats),
  current_task: optional(text),
  capabilities: optional(map),
});
export type EventContext = z.infer<typeof EventContext>;

/** One event as it travels: who, when, how deep, and what about. */
export const AhpEvent = struct("AhpEvent", {
  event_type: EventType,
  session_id: text,
  agent_id: text,
  timestamp: text,
  depth: u32,
  payload: any,
  context: optional(EventContext),
  metadata: optional(map),
});
export type AhpEvent = z.infer<typeof AhpEvent>;
