import { describe, expect, test } from "vitest";
import { resultBlock, saidIn } from "./prompt.ts";
import { Message } from "./protocol.ts";

const messages = (...all: readonly [string, unknown][]) =>
  all.map(([role, content]) => Message.parse({ role, content }));

describe("what is said in a turn", () => {
  test("is everything after the assistant spoke last", () => {
    const said = saidIn(messages(["user", "one"], ["assistant", "two"], ["user", "three"], ["user", "four"]));
    expect(said.prompt).toEqual([
      { type: "text", text: "three" },
      { type: "text", text: "four" },
    ]);
    expect(said.earlier).toContain("User: one\n\nYou: two");
  });

  test("has pictures as ACP has them, and results apart", () => {
    const source = { type: "base64", media_type: "image/png", data: "AA==" };
    const result = { type: "tool_result", tool_use_id: "t1", content: "done", is_error: true };
    const said = saidIn(messages(["user", [{ type: "image", source }, result]]));
    expect(said).toEqual({
      prompt: [{ type: "image", data: "AA==", mimeType: "image/png" }],
      results: [{ id: "t1", text: "done", isError: true }],
      earlier: undefined,
    });
    expect(resultBlock({ id: "t1", text: "done", isError: true })).toEqual({
      type: "text",
      text: "The call t1 failed:\ndone",
    });
  });

  test("has of a long conversation the end", () => {
    const { earlier = "" } = saidIn(
      messages(["user", "x".repeat(30_000)], ["assistant", "the end"], ["user", "y"]),
    );
    expect(earlier.length).toBeLessThan(25_000);
    expect(earlier.endsWith("You: the end")).toBe(true);
  });
});
