import type { PlacedEntry } from "@reins/ledger";
import { describe, expect, test } from "vitest";
import { type KnownCall, ledgerEvents, UpdateEvents } from "./turn-events.ts";

const entry = { toolNames: { members: [], aliases: [], kinds: {} } };

function eventsOf(updates: readonly object[], known?: KnownCall) {
  const events = new UpdateEvents(entry, known);
  return updates.flatMap((update) => events.ofUpdate({ ...update }));
}

const chunk = (sessionUpdate: string, text: string) => ({ sessionUpdate, content: { type: "text", text } });

describe("the events of ACP updates", () => {
  test("are text and reasoning deltas", () => {
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

  test("announce a call once, then its changes, then its result once", () => {
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

  test("announce a call that ends with its first update, and mark a failed one", () => {
    const failed = {
      ...{ sessionUpdate: "tool_call", toolCallId: "c1", status: "failed" },
      content: [{ type: "content", content: { type: "text", text: "no such file" } }],
    };
    expect(eventsOf([failed])).toEqual([
      { type: "tool_call", id: "c1", name: expect.any(String), input: {} },
      { type: "tool_result", id: "c1", content: "no such file", is_error: true },
    ]);
  });

  test("take the input of a call from the harness if the agent does not send it", () => {
    const known: KnownCall = () => ({ reported: { rawInput: { path: "a" } } });
    expect(eventsOf([{ sessionUpdate: "tool_call", toolCallId: "c1" }], known)).toMatchObject([
      { type: "tool_call", input: { path: "a" } },
    ]);
  });

  test("forward usage", () => {
    expect(eventsOf([{ sessionUpdate: "usage_update", used: 5, size: 10 }])).toEqual([
      { type: "usage_update", used: 5, size: 10 },
    ]);
  });
});

const ledgerEntry: Omit<PlacedEntry["entry"], "payload"> = {
  ...{ cid: "c".repeat(64), entity_id: "a:b:c", target: "bash", quality: "policy_verdict" },
  ...{ timestamp: "2026-11-15T00:00:00.000Z", source: "a:b:c", actor: "a", parents: [], tags: [] },
  ...{ proof: null, envelope: null },
};
const appended = { type: "ledger_append", cid: ledgerEntry.cid };

describe("the events of a ledger entry", () => {
  test("are policy_gate and ledger_append for a verdict on a tool", () => {
    const payload = {
      ...{ event_type: "pre_action", verdict: "blocked", rule: "no_shell", reason: "not on the roster" },
      constitution_hash: "d".repeat(64),
    };
    expect(ledgerEvents({ ...ledgerEntry, payload })).toEqual([
      {
        ...{ type: "policy_gate", tool: "bash", verdict: "blocked", rule: "no_shell" },
        ...{ reason: "not on the roster", constitution_hash: "d".repeat(64) },
      },
      { ...appended, quality: "policy_verdict" },
    ]);
    const bare = { event_type: "pre_action", verdict: "blocked", reason: "no matching policy rule" };
    expect(ledgerEvents({ ...ledgerEntry, payload: bare })[0]).toMatchObject({
      rule: null,
      constitution_hash: null,
    });
  });

  test("have a gate for every tool that a model uses, whatever kind its agent claims", () => {
    const facts = { claims: { kind: "perception" } };
    const payload = { event_type: "pre_action", verdict: "allowed", reason: "r", facts };
    const typesAt = (enforcement: string) =>
      ledgerEvents({ ...ledgerEntry, payload: { ...payload, enforcement } }).map(({ type }) => type);
    for (const enforcement of ["asked", "confined", "observed"])
      expect(typesAt(enforcement)).toEqual(["policy_gate", "ledger_append"]);
    expect(typesAt("performed")).toEqual(["ledger_append"]);
  });

  test("are only ledger_append for other verdicts and entries", () => {
    for (const event_type of ["pre_prompt", "tool_offer"])
      for (const quality of ["policy_verdict", "turn", "tool_call"] as const)
        expect(ledgerEvents({ ...ledgerEntry, quality, payload: { event_type } })).toEqual([
          { ...appended, quality },
        ]);
  });

  test("are mailbox_injected and ledger_append for mail", () => {
    const payload = { message: "m1", from: "coder", subject: "rain", timestamp: "now" };
    expect(ledgerEvents({ ...ledgerEntry, quality: "mailbox_inject", payload })).toEqual([
      { type: "mailbox_injected", message_id: "m1", from: "coder", subject: "rain", timestamp: "now" },
      { ...appended, quality: "mailbox_inject" },
    ]);
  });
});
