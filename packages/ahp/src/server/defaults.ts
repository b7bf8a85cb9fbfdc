import type { SpecialisedEventType } from "../protocol/event-type.ts";

/** What a harness that does not handle a family answers, word for word as upstream. `idle` is simply allowed. */
export const NOT_SUPPORTED: Readonly<Record<Exclude<SpecialisedEventType, "idle"> | "ahp/query", string>> = {
  context_perception: "Context perception not supported",
  memory_recall: "Memory recall not supported",
  planning: "Planning not supported",
  reasoning: "Reasoning not supported",
  rate_limit: "Rate limit decisions not supported",
  confirmation: "Confirmation not supported",
  intent_detection: "Intent detection not supported",
  "ahp/query": "Query not supported",
};
