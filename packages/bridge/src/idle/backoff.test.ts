import { describe, expect, it } from "vitest";
import { type IdleTick, nextTick } from "./backoff.ts";

function ticks(count: number): IdleTick[] {
  const made: IdleTick[] = [];
  for (let index = 0; index < count; index += 1) made.push(nextTick(made.at(-1)));
  return made;
}

describe("the ticks of an idle agent", () => {
  it("slow down from 100 milliseconds to two seconds, and stay there", () => {
    expect(ticks(6).map(({ backoff_ms }) => backoff_ms)).toEqual([100, 500, 1_000, 2_000, 2_000, 2_000]);
  });

  it("are counted, so that the third says what the protocol's example says", () => {
    expect(ticks(3).at(-1)).toEqual({ iteration: 3, backoff_ms: 1_000 });
  });

  it("begin anew when the agent was busy", () => {
    expect(nextTick(undefined)).toEqual({ iteration: 1, backoff_ms: 100 });
  });
});
