import type { z } from "zod";
import { f32, i32, list, map, optional, struct, text, u64, usize } from "../wire/schema.ts";

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

/** What an agent tells about its surroundings with an event. */
export const EventContext = struct("EventContext", {
  recent_facts: optional(list(Fact)),
  memory_summary: optional(MemorySummary),
  session_stats: optional(SessionStats),
  current_task: optional(text),
  capabilities: optional(map),
});
export type EventContext = z.infer<typeof EventContext>;
