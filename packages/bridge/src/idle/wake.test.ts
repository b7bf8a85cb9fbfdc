import { describe, expect, it } from "vitest";
import { wakeOf } from "./wake.ts";

describe("an idle agent", () => {
  it("is woken without a word by agent/resume", () => {
    expect(wakeOf("agent/resume", {})).toEqual({ kind: "resume" });
  });

  it.each(["user_message", "session/input", "agent/user_message"])(
    "is woken by %s with what it says",
    (method) => {
      expect(wakeOf(method, { content: "go on", sessionId: "s" })).toEqual({
        kind: "message",
        content: "go on",
        delivery: "wait_for_completion",
      });
    },
  );

  it.each([
    ["interrupt", "interrupt_immediate"],
    ["interrupt_immediate", "interrupt_immediate"],
    ["finish_step", "finish_step"],
    ["after_current_operation", "finish_step"],
    ["wait_for_completion", "wait_for_completion"],
    ["whenever", "wait_for_completion"],
    [7, "wait_for_completion"],
  ])("reads the mode %s as %s", (mode, delivery) => {
    expect(wakeOf("user_message", { content: "x", mode })).toMatchObject({ delivery });
  });

  it("sleeps on when nothing is said, or something else", () => {
    expect(wakeOf("user_message", { content: "" })).toBeUndefined();
    expect(wakeOf("user_message", {})).toBeUndefined();
    expect(wakeOf("user_message", "hello")).toBeUndefined();
    expect(wakeOf("skills/update", { content: "x" })).toBeUndefined();
  });
});
