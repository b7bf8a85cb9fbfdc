import type { ThoughtLevel } from "../model.ts";

/** A thought level as OpenAI calls it. */
export function effortOf(level: Exclude<ThoughtLevel, "default">): "none" | "low" | "medium" | "high" {
  return level === "off" ? "none" : level;
}
