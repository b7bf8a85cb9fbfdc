import type { PlacedEntry } from "@reins/api";
import { describe, expect, it } from "vitest";
import { entrySummary, verdictOf } from "./entries.ts";

type Entry = PlacedEntry["entry"];

function entry(quality: Entry["quality"], payload: unknown, more: Partial<Entry> = {}): Entry {
  return {
    cid: "0".repeat(64),
    entity_id: "native:acp:1",
    target: "read_file",
    quality,
    timestamp: "2026-11-15T05:20:00.000Z",
    source: "native:acp:1",
    actor: "native",
    parents: [],
    tags: [],
    payload,
    proof: null,
    envelope: null,
    ...more,
  };
}

describe("the summary of an entry", () => {
  it.each([
    [entry("policy_verdict", { reason: "no" }), "read_file: no"],
    [
      entry("policy_verdict", { reason: "fine", event_type: "pre_prompt" }, { target: "" }),
      "pre_prompt: fine",
    ],
    [entry("tool_call", { claims: { title: "Read the notes" } }), "Read the notes"],
    [entry("tool_call", { claims: { title: null } }), "read_file"],
    [entry("tool_result", { outcome: "completed" }), "read_file: completed"],
    [
      entry("tool_result", { outcome: "cut", usage: { tokens: 12, estimated: true } }),
      "read_file: cut, about 12 tokens",
    ],
    [entry("turn", { stop_reason: "end_turn", entries: ["a", "b"] }), "ended: end turn, 2 entries"],
    [entry("approval", { state: "approved", answer: { by: "ann" } }), "read_file: approved by ann"],
    [entry("policy_change", { change: "key_added" }, { target: "keys" }), "keys: key added"],
    [entry("kill", { reason: "enough" }, { target: "pond" }), "pond: enough"],
    [entry("session_lifecycle", {}, { target: "s", tags: ["harness_started"] }), "s: harness started"],
    [entry("turn", { sealed: true }, { envelope: { audience_label: "x" } }), "read_file, sealed"],
    [entry("tool_result", "unexpected"), "read_file"],
  ])("has target and outcome (%#)", (given, line) => {
    expect(entrySummary(given)).toBe(line);
  });

  it("has a verdict only if the entry is a verdict", () => {
    expect(verdictOf(entry("policy_verdict", { verdict: "ask" }))).toBe("ask");
    expect(verdictOf(entry("tool_call", { verdict: "ask" }))).toBeUndefined();
  });
});
