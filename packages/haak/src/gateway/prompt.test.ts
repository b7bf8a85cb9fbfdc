import { describe, expect, test } from "vitest";
import { ChatMessage, resultBlock, turnInput } from "./protocol.ts";

const messages = (...all: readonly [string, unknown][]) =>
  all.map(([role, content]) => ChatMessage.parse({ role, content }));

describe("the input of a turn", () => {
  test("is every message after the assistant's last one", () => {
    const said = turnInput(
      messages(["user", "one"], ["assistant", "two"], ["user", "three"], ["user", "four"]),
    );
    expect(said.prompt).toEqual([
      { type: "text", text: "three" },
      { type: "text", text: "four" },
    ]);
    expect(said.earlier).toContain("User: one\n\nYou: two");
  });

  test("has images as ACP blocks, and tool results apart", () => {
    const source = { type: "base64", media_type: "image/png", data: "AA==" };
    const result = { type: "tool_result", tool_use_id: "t1", content: "done", is_error: true };
    const said = turnInput(messages(["user", [{ type: "image", source }, result]]));
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

  test("keeps the end of a long transcript", () => {
    const { earlier = "" } = turnInput(
      messages(["user", "x".repeat(30_000)], ["assistant", "the end"], ["user", "y"]),
    );
    expect(earlier.length).toBeLessThan(25_000);
    expect(earlier.endsWith("You: the end")).toBe(true);
  });
});
