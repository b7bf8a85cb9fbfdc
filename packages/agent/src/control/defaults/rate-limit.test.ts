import { describe, expect, it } from "vitest";
import type { RateLimitType } from "../events.ts";
import { decideRateLimit } from "./rate-limit.ts";

const decide = (limit_type: RateLimitType, retry_after_ms: number) =>
  decideRateLimit({ session_id: "s", limit_type, retry_after_ms, current_usage: "" });

describe("a limit that was hit", () => {
  it("is waited for as long as asked", () => {
    expect(decide("llm_request_limit", 7_000)).toEqual({ decision: "retry", retry_after_ms: 7_000 });
    expect(decide("api_request_limit", 0)).toEqual({ decision: "retry", retry_after_ms: 1_000 });
    expect(decide({ custom: "gpu" }, 2_000)).toEqual({ decision: "retry", retry_after_ms: 2_000 });
  });

  it("is not waited for when that takes too long, and says how long", () => {
    expect(decide("llm_request_limit", 600_000)).toEqual({
      decision: "skip",
      reason: "the limit lasts another 600 seconds; try again then",
    });
  });

  it("of tokens makes requests wait for each other", () => {
    expect(decide("llm_token_limit", 5_000)).toEqual({ decision: "queue" });
  });

  it("of a tool ends its use", () => {
    expect(decide("tool_execution_limit", 0)).toMatchObject({ decision: "skip" });
  });
});
