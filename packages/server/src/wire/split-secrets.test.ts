import { Redactor } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import { WireRing } from "./wire-ring.ts";
import { splitSecrets, withoutText } from "./wire-routes.ts";

const KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
const redactor = Redactor.create();

function said(...updates: readonly [kind: string, text: string][]): WireRing {
  const ring = new WireRing(() => 0);
  for (const [sessionUpdate, text] of updates) {
    const update = { sessionUpdate, content: { type: "text", text } };
    const message = { method: "session/update", params: { sessionId: "a", update } };
    ring.take({
      ...{ protocol: "acp", edge: "agent", direction: "in", tenant: "default", session: "s" },
      ...{ peer: "1", agent: "stub", message },
    });
  }
  return ring;
}

function hidden(ring: WireRing, forgotten = false): number[] {
  return [
    ...splitSecrets(
      ring.list(() => true),
      redactor,
      forgotten,
    ),
  ];
}

describe("a secret that an agent says in pieces", () => {
  test("hides every chunk of its message, and nothing else", () => {
    const halves: [string, string][] = [
      ["agent_thought_chunk", "harmless"],
      ["agent_message_chunk", `the key is ${KEY.slice(0, 12)}`],
      ["agent_message_chunk", KEY.slice(12)],
      ["agent_thought_chunk", "harmless too"],
    ];
    expect(hidden(said(...halves))).toEqual([2, 3]);
    expect(hidden(said(["agent_message_chunk", "hello "], ["agent_message_chunk", "world"]))).toEqual([]);
  });

  test("may have begun before the oldest chunk in the ring", () => {
    expect(hidden(said(["agent_message_chunk", KEY.slice(20)]), true)).toEqual([1]);
  });

  test("removes only the text", () => {
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: KEY } };
    expect(withoutText({ method: "session/update", params: { sessionId: "a", update } })).toEqual({
      method: "session/update",
      params: {
        sessionId: "a",
        update: { ...update, content: { type: "text", text: "[redacted: a part of a secret]" } },
      },
    });
    expect(withoutText({ id: 1, result: {} })).toEqual({ id: 1, result: {} });
  });
});
