import { describe, expect, it } from "vitest";
import { Draft } from "./draft.ts";

function draft() {
  let ids = 0;
  return new Draft("m1", "model", () => `t${++ids}`);
}

describe("an answer in progress", () => {
  it("joins consecutive pieces of the same kind", () => {
    const made = draft();
    for (const text of ["a", "b"]) made.add({ type: "thinking", text });
    for (const text of ["c", "d"]) made.add({ type: "text", text });
    made.add({ type: "call", id: "c1", name: "read_file", arguments: "{}" });
    made.add({ type: "text", text: "e" });
    expect(made.finish("end").parts).toEqual([
      { type: "thinking", text: "ab" },
      { type: "text", text: "cd" },
      { type: "call", id: "c1", name: "read_file", arguments: "{}", toolCallId: "t1" },
      { type: "text", text: "e" },
    ]);
  });

  it("seals each thought separately, also a hidden one", () => {
    const made = draft();
    made.add({ type: "thinking", text: "one" });
    made.add({ type: "thinking_end", seal: { signature: "1" } });
    made.add({ type: "thinking", text: "two" });
    made.add({ type: "thinking_end", seal: { signature: "2" } });
    made.add({ type: "thinking_end", seal: { data: "hidden" } });
    expect(made.finish("end").parts).toEqual([
      { type: "thinking", text: "one", seal: { model: "model", data: { signature: "1" } } },
      { type: "thinking", text: "two", seal: { model: "model", data: { signature: "2" } } },
      { type: "thinking", text: "", seal: { model: "model", data: { data: "hidden" } } },
    ]);
  });

  it("keeps finished text only when it is cut off", () => {
    const made = draft();
    made.add({ type: "thinking", text: "hm" });
    made.add({ type: "text", text: "so far" });
    made.add({ type: "call", id: "c1", name: "write_file", arguments: "{}" });
    made.add({ type: "usage", usage: { inputTokens: 5, outputTokens: 5 } });
    made.discardUnfinished();
    expect(made.finish("end")).toMatchObject({
      parts: [{ type: "text", text: "so far" }],
      usage: { inputTokens: 0, outputTokens: 0 },
    });
  });
});
