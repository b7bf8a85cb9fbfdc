import { describe, expect, test } from "vitest";
import { type KnownCall, UpdateEvents } from "./update-events.ts";

const entry = { toolNames: { members: [], aliases: [], kinds: {} } };

function eventsOf(updates: readonly object[], known?: KnownCall) {
  const events = new UpdateEvents(entry, known);
  return updates.flatMap((update) => events.take({ ...update }));
}

const chunk = (sessionUpdate: string, text: string) => ({ sessionUpdate, content: { type: "text", text } });

describe("the events of updates", () => {
  test("are what is said and thought", () => {
    expect(
      eventsOf([
        chunk("agent_thought_chunk", "hm"),
        chunk("agent_message_chunk", "hi"),
        chunk("agent_message_chunk", ""),
        { sessionUpdate: "agent_message_chunk", content: { type: "image", mimeType: "image/png" } },
        { sessionUpdate: "available_commands_update" },
      ]),
    ).toEqual([
      { type: "reasoning_delta", text: "hm" },
      { type: "text_delta", text: "hi" },
      { type: "text_delta", text: "[image/png]" },
    ]);
  });

  test("tell a call once, then how it changes, and its result once", () => {
    const call = { sessionUpdate: "tool_call", toolCallId: "c1", title: "bash", rawInput: { command: "ls" } };
    const change = { sessionUpdate: "tool_call_update", toolCallId: "c1" };
    const done = { ...change, status: "completed", rawOutput: "a.txt" };
    const events = eventsOf([call, { ...change, status: "in_progress" }, done, done]);
    expect(events).toEqual([
      { type: "tool_call", id: "c1", name: expect.any(String), input: { command: "ls" } },
      { type: "tool_call_update", id: "c1", status: "in_progress" },
      { type: "tool_result", id: "c1", content: "a.txt", is_error: false },
    ]);
  });

  test("tell a call that comes to its end at once, and one that failed", () => {
    const failed = {
      ...{ sessionUpdate: "tool_call", toolCallId: "c1", status: "failed" },
      content: [{ type: "content", content: { type: "text", text: "no such file" } }],
    };
    expect(eventsOf([failed])).toEqual([
      { type: "tool_call", id: "c1", name: expect.any(String), input: {} },
      { type: "tool_result", id: "c1", content: "no such file", is_error: true },
    ]);
  });

  test("have what the harness knows of a call whose agent tells nothing of it", () => {
    const known: KnownCall = () => ({ told: { rawInput: { path: "a" } } });
    expect(eventsOf([{ sessionUpdate: "tool_call", toolCallId: "c1" }], known)).toMatchObject([
      { type: "tool_call", input: { path: "a" } },
    ]);
  });

  test("pass on what was used", () => {
    expect(eventsOf([{ sessionUpdate: "usage_update", used: 5, size: 10 }])).toEqual([
      { type: "usage_update", used: 5, size: 10 },
    ]);
  });
});
