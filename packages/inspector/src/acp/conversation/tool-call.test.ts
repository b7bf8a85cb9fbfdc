import { describe, expect, test } from "vitest";
import { isOver, type ToolCall, toolCallWith } from "./tool-call.ts";

const started = (update: object = {}): ToolCall => {
  const call = toolCallWith(undefined, { toolCallId: "t", ...update }, 1);
  if (!call) throw new Error("no call");
  return call;
};

describe("a tool call", () => {
  test("has defaults until updates say more", () => {
    expect(started()).toEqual({
      id: "t",
      title: "Tool call",
      status: "pending",
      content: [],
      input: undefined,
      output: undefined,
      verdict: undefined,
      began: 1,
      ended: undefined,
    });
    expect(started({ name: "read_file" }).title).toBe("read_file");
    expect(started({ name: "read_file", title: "Read a" }).title).toBe("Read a");
  });

  test("keeps members that an update lacks or has as null", () => {
    const content = [{ type: "terminal", terminalId: "x" }];
    const call = started({ title: "Read a", rawInput: { path: "a" }, content });
    const later = toolCallWith(
      call,
      { toolCallId: "t", title: null, content: null, status: "in_progress" },
      2,
    );
    expect(later).toMatchObject({
      title: "Read a",
      status: "in_progress",
      input: { path: "a" },
      content: [{ kind: "terminal", id: "x" }],
      began: 1,
    });
  });

  test("replaces content as a whole", () => {
    const text = { type: "content", content: { type: "text", text: "one" } };
    const call = started({ content: [text] });
    const later = toolCallWith(call, { toolCallId: "t", content: [] }, 2);
    expect(call.content).toEqual([{ kind: "text", text: "one" }]);
    expect(later?.content).toEqual([]);
  });

  test("reads text, diffs and terminals, and skips other parts", () => {
    const content = [
      { type: "content", content: { type: "text", text: "one" } },
      { type: "diff", path: "a", oldText: null, newText: "new" },
      { type: "diff", path: "b", oldText: "old", newText: "" },
      { type: "terminal", terminalId: "x" },
      { type: "hologram" },
      null,
    ];
    expect(started({ content }).content).toEqual([
      { kind: "text", text: "one" },
      { kind: "diff", path: "a", before: "", after: "new" },
      { kind: "diff", path: "b", before: "old", after: "" },
      { kind: "terminal", id: "x" },
    ]);
  });

  test.each(["completed", "failed", "cancelled"])("ends when it is %s, and keeps its first end", (status) => {
    const ended = toolCallWith(started(), { toolCallId: "t", status }, 5);
    expect(ended).toMatchObject({ began: 1, ended: 5 });
    expect(isOver({ status })).toBe(true);
    expect(toolCallWith(ended, { toolCallId: "t", title: "late" }, 9)).toMatchObject({ ended: 5 });
  });

  test.each(["pending", "in_progress", "unheard_of"])("has no end while it is %s", (status) => {
    expect(toolCallWith(started(), { toolCallId: "t", status }, 5)?.ended).toBeUndefined();
    expect(isOver({ status })).toBe(false);
  });

  test("has no times if it is replayed", () => {
    const call = toolCallWith(undefined, { toolCallId: "t", status: "completed" }, undefined);
    expect(call).toMatchObject({ began: undefined, ended: undefined });
  });

  test("keeps its verdict when a later annotation adds to it", () => {
    const call = started({ _meta: { reins: { verdict: "allowed", rule: "r" } } });
    const later = toolCallWith(call, { toolCallId: "t", _meta: { reins: { interrupted: true } } }, 2);
    expect(later?.verdict).toEqual({ verdict: "allowed", rule: "r", interrupted: true });
    const changed = toolCallWith(later, { toolCallId: "t", _meta: { reins: { verdict: "blocked" } } }, 3);
    expect(changed?.verdict).toMatchObject({ verdict: "blocked", rule: "r" });
  });

  test("has no verdict from an annotation without one", () => {
    expect(started({ _meta: { reins: { prompt: "p" } } }).verdict).toBeUndefined();
  });
});

test.each([undefined, null, "t", {}, { toolCallId: 7 }])(
  "an update without an id changes nothing: %j",
  (update) => {
    const call = started();
    expect(toolCallWith(call, update, 2)).toBe(call);
    expect(toolCallWith(undefined, update, 2)).toBeUndefined();
  },
);
