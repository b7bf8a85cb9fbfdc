import type { RateLimitDecision, RateLimitPayload } from "../events.ts";

/** How patient somebody is. */
export interface Patience {
  /** The shortest wait, where the other side says nothing. */
  readonly leastMs: number;
  /** The longest; whoever asks for more is not waited for. */
  readonly mostMs: number;
}

/** As long as a person in front of it may wait. */
export const PATIENCE: Patience = { leastMs: 1_000, mostMs: 60_000 };

/**
 * Decides what to do about a limit: wait as long as asked, but not for ever; where tokens are short, one after the
 * other, because more at once makes it worse; and where a tool was used too often, not at all.
 */
export function decideRateLimit(
  { limit_type, retry_after_ms }: RateLimitPayload,
  { leastMs, mostMs }: Patience = PATIENCE,
): RateLimitDecision {
  if (limit_type === "tool_execution_limit")
    return { decision: "skip", reason: "the tool has been used as often as it may be" };
  if (retry_after_ms > mostMs) {
    const seconds = Math.ceil(retry_after_ms / 1_000);
    return { decision: "skip", reason: `the limit lasts another ${seconds} seconds; try again then` };
  }
  if (limit_type === "llm_token_limit") return { decision: "queue" };
  return { decision: "retry", retry_after_ms: Math.max(leastMs, retry_after_ms) };
}
