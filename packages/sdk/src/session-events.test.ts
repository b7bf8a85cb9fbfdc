import { describe, expect, it } from "vitest";
import { eventIn } from "./session-events.ts";

const update = (sessionUpdate: string, members: object) => ({
  method: "session/update",
  params: { sessionId: "s", update: { sessionUpdate, ...members } },
});

describe("an event", () => {
  it.each([
    [update("agent_message_chunk", { content: { type: "text", text: "hi" } }), { type: "text", text: "hi" }],
    [
      update("agent_thought_chunk", { content: { type: "text", text: "hm" } }),
      { type: "thought", text: "hm" },
    ],
    [
      update("user_message_chunk", {
        content: { type: "text", text: "go" },
        _meta: { reins: { prompt: "p1" } },
      }),
      { type: "prompt", prompt: "p1", text: "go" },
    ],
    [
      update("tool_call_update", {
        toolCallId: "t",
        _meta: { reins: { verdict: "blocked", rule: "r", enforcement: "asked", ungated: true } },
      }),
      { type: "tool", call: { toolCallId: "t" }, verdict: { verdict: "blocked", rule: "r", ungated: true } },
    ],
    [
      update("plan", { entries: [{ content: "a" }] }),
      { type: "plan", plan: { entries: [{ content: "a" }] } },
    ],
    [
      update("agent_message_chunk", { content: { type: "image" } }),
      { type: "update", kind: "agent_message_chunk" },
    ],
    [update("of_tomorrow", { some: 1 }), { type: "update", kind: "of_tomorrow", update: { some: 1 } }],
    [
      { method: "_reins/gap", params: { sessionId: "s", reason: "lost" } },
      { type: "gap", reason: "lost" },
    ],
    [
      { method: "_reins/session/turn", params: { sessionId: "s", state: "running" } },
      { type: "turn", state: "running", stopReason: undefined },
    ],
    [
      { method: "_reins/session/turn", params: { sessionId: "s", state: "idle", stopReason: "cancelled" } },
      { type: "turn", state: "idle", stopReason: "cancelled" },
    ],
    [{ method: "_sandboxagent/session/ended", params: { sessionId: "s" } }, { type: "session_ended" }],
  ])("of %j is %j", (message, event) => {
    expect(eventIn(message)).toMatchObject({ sessionId: "s", event });
  });

  it.each([
    {},
    { method: "session/update", params: null },
    { method: "session/update", params: { sessionId: 4, update: { sessionUpdate: "plan" } } },
    { method: "session/update", params: { sessionId: "s", update: [] } },
    { method: "session/request_permission", params: { sessionId: "s" } },
  ])("is not in %j", (message) => {
    expect(eventIn(message)).toBeUndefined();
  });
});
