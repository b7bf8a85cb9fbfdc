import { describe, expect, it } from "vitest";
import type { HistoryEntry } from "./entry.ts";
import { interruptedTurns, transcriptOf } from "./transcript.ts";

const at = "2026-01-01T00:00:00Z";
const usage = { inputTokens: 1, outputTokens: 1 };
const user = (turn: string, text: string): HistoryEntry => ({
  kind: "user",
  turn,
  at,
  parts: [{ type: "text", text }],
});
const said = (turn: string, text: string): HistoryEntry => ({
  kind: "assistant",
  turn,
  at,
  id: `${turn}-said`,
  model: "m",
  parts: [{ type: "text", text }],
});
const called = (turn: string, ...ids: string[]): HistoryEntry => ({
  kind: "assistant",
  turn,
  at,
  id: `${turn}-called`,
  model: "m",
  parts: ids.map((id) => ({ type: "call", id, name: "read_file", arguments: "{}", toolCallId: `t-${id}` })),
});
const results = (turn: string, ...ids: string[]): HistoryEntry => ({
  kind: "results",
  turn,
  at,
  results: ids.map((call) => ({ call, name: "read_file", text: "found", isError: false })),
});
const end = (turn: string): HistoryEntry => ({ kind: "end", turn, at, stop: "end_turn", usage });

const rolesOf = (entries: HistoryEntry[]) => transcriptOf(entries).map(({ role }) => role);

describe("a transcript", () => {
  it("is the conversation in order", () => {
    const entries = [user("1", "hi"), called("1", "a"), results("1", "a"), said("1", "done"), end("1")];
    expect(rolesOf(entries)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("leaves out turns that were withdrawn", () => {
    const entries = [user("1", "bad"), { kind: "withdrawn", turn: "1", at } as const, user("2", "good")];
    expect(transcriptOf(entries)).toEqual([{ role: "user", parts: [{ type: "text", text: "good" }] }]);
  });

  it("begins at the last compaction, with its summary", () => {
    const entries: HistoryEntry[] = [
      user("1", "first"),
      said("1", "answer"),
      user("2", "second"),
      { kind: "compaction", turn: "2", at, summary: "they said hello", covers: 2 },
      said("2", "again"),
    ];
    const [summary, ...rest] = transcriptOf(entries);
    expect(summary).toMatchObject({
      role: "user",
      parts: [{ text: expect.stringContaining("they said hello"), context: true }],
    });
    expect(rest).toMatchObject([{ parts: [{ text: "second" }] }, { parts: [{ text: "again" }] }]);
  });

  it("says of a call whose end nobody saw that its outcome is unknown", () => {
    const [, , tool] = transcriptOf([user("1", "go"), called("1", "a"), user("2", "what happened?")]);
    expect(tool).toMatchObject({
      role: "tool",
      results: [{ call: "a", isError: true, text: expect.stringContaining("unknown") }],
    });
  });

  it("completes results of which some are missing, and those at the very end", () => {
    const partly = transcriptOf([user("1", "go"), called("1", "a", "b"), results("1", "b")]);
    expect(partly.at(-1)).toMatchObject({
      results: [
        { call: "b", isError: false },
        { call: "a", isError: true },
      ],
    });
    expect(rolesOf([user("1", "go"), called("1", "a")])).toEqual(["user", "assistant", "tool"]);
  });

  it("knows which turns were cut short", () => {
    const entries = [user("1", "a"), end("1"), user("2", "b"), user("3", "c"), end("3")];
    expect([...interruptedTurns(entries)]).toEqual(["2"]);
  });
});
