import { describe, expect, it } from "vitest";
import { targetOf } from "./kill.ts";

describe("the target of a kill", () => {
  it("is a session if it looks like the id of one, else an agent", () => {
    expect(targetOf("4f3a9c01", {})).toEqual({ session: "4f3a9c01" });
    expect(targetOf("claude", {})).toEqual({ agent: "claude" });
    expect(targetOf(undefined, { agent: "decade" })).toEqual({ agent: "decade" });
    expect(targetOf(undefined, { all: true })).toEqual({ all: true });
    expect(targetOf(undefined, { process: "41253" })).toEqual({ process: "41253" });
  });

  it("is exactly one, and never everything by mistake", () => {
    expect(() => targetOf(undefined, {})).toThrow("Nothing to end is named");
    expect(() => targetOf("claude", { all: true })).toThrow("More than one thing");
  });
});
