import { describe, expect, it } from "vitest";
import {
  conversationTurns,
  entriesInEffect,
  type HistoryEntry,
  interruptedTurns,
  transcriptOf,
} from "./entry.ts";

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
  it("has the messages in order", () => {
    const entries = [user("1", "hi"), called("1", "a"), results("1", "a"), said("1", "done"), end("1")];
    expect(rolesOf(entries)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("leaves out withdrawn turns", () => {
    const entries = [user("1", "bad"), { kind: "withdrawn", turn: "1", at } as const, user("2", "good")];
    expect(transcriptOf(entries)).toEqual([{ role: "user", parts: [{ type: "text", text: "good" }] }]);
  });

  it("starts with the summary of the last compaction", () => {
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

  it("gives an interrupted call an unknown outcome", () => {
    const [, , tool] = transcriptOf([user("1", "go"), called("1", "a"), user("2", "what happened?")]);
    expect(tool).toMatchObject({
      role: "tool",
      results: [{ call: "a", isError: true, text: expect.stringContaining("unknown") }],
    });
  });

  it("completes missing results, also at the end", () => {
    const partly = transcriptOf([user("1", "go"), called("1", "a", "b"), results("1", "b")]);
    expect(partly.at(-1)).toMatchObject({
      results: [
        { call: "b", isError: false },
        { call: "a", isError: true },
      ],
    });
    expect(rolesOf([user("1", "go"), called("1", "a")])).toEqual(["user", "assistant", "tool"]);
  });

  it("knows interrupted turns", () => {
    const entries = [user("1", "a"), end("1"), user("2", "b"), user("3", "c"), end("3")];
    expect([...interruptedTurns(entries)]).toEqual(["2"]);
  });
});

describe("a conversation that went back", () => {
  const rewound = (turn: string, keeps: number): HistoryEntry => ({ kind: "rewound", turn, at, keeps });
  const first = [user("1", "a"), said("1", "b"), end("1")];
  const second = [user("2", "c"), said("2", "d"), end("2")];
  const words = (entries: readonly HistoryEntry[]) =>
    transcriptOf(entriesInEffect(entries)).flatMap(({ role, ...message }) =>
      "parts" in message ? message.parts.map((part) => ("text" in part ? part.text : role)) : [],
    );

  it("is without the turns that it left out, and with what they used", () => {
    const entries = [...first, ...second, rewound("r", 3), user("3", "e")];
    expect(words(entries)).toEqual(["a", "b", "e"]);
    expect(entriesInEffect(entries).filter(({ kind }) => kind === "end")).toHaveLength(2);
    expect(conversationTurns(entries).map(({ id, inEffect }) => [id, inEffect])).toEqual([
      ["1", true],
      ["2", false],
      ["r", true],
      ["3", true],
    ]);
  });

  it("has them again when it goes to before that, and what each used once", () => {
    const back = [...first, ...second, rewound("r", 0)];
    const again = [...back, user("3", "e"), end("3"), rewound("s", 6)];
    expect(words(back)).toEqual([]);
    expect(words(again)).toEqual(["a", "b", "c", "d"]);
    expect(entriesInEffect(again).filter(({ kind }) => kind === "end")).toHaveLength(3);
  });

  it("keeps its summary where that was made before", () => {
    const summary: HistoryEntry = { kind: "compaction", turn: "c", at, summary: "so far", covers: 3 };
    const entries = [...first, rewound("r", 0), user("2", "c"), end("2"), summary, ...second];
    const back = [...entries, rewound("s", 7)];
    expect(words(back)).toEqual(["What happened before, in short:\n\nso far"]);
    expect(words([...back, rewound("t", 6)])).toEqual(["c"]);
  });
});
