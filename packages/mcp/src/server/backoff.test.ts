import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { MCP_LIMITS } from "../limits.ts";
import { Backoff } from "./backoff.ts";

describe("the wait before a server is started again", () => {
  test("doubles up to a bound, and is forgiven to one that lived", async () => {
    const clock = new ManualClock();
    const backoff = new Backoff({ ...MCP_LIMITS, firstBackoffMs: 100, mostBackoffMs: 500 }, clock);
    expect(backoff.wait).toBeLessThanOrEqual(0);
    const waits: number[] = [];
    for (let start = 0; start < 5; start += 1) {
      backoff.started();
      backoff.failed();
      waits.push(backoff.wait);
      await clock.advanceAndSettle(backoff.wait);
    }
    expect(waits).toEqual([100, 200, 400, 500, 500]);
    backoff.started();
    await clock.advanceAndSettle(500);
    backoff.failed();
    expect(backoff.wait).toBe(100);
  });
});
