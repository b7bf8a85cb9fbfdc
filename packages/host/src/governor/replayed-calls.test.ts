import type { JsonObject } from "@reins/acp";
import { describe, expect, test } from "vitest";
import { argumentsDigest, ReplayedCalls, ranBy } from "./replayed-calls.ts";
import { ToolCalls } from "./tool-calls.ts";

const ENTRY = { toolNames: { members: [], aliases: [], kinds: { read: "Read" } } };

const ls = { name: "Bash", rawInput: { command: "ls" } };
const edit = {
  name: "Write",
  rawInput: { path: "/w/a" },
  content: [{ type: "diff", path: "/w/a", oldText: "", newText: "x" }],
};

/** The calls of a session that its agent loads again. */
function replayOf(...made: readonly JsonObject[]): ReplayedCalls {
  const calls = new ToolCalls(0, ENTRY);
  const known = made.map((one, index) =>
    calls.note({ sessionUpdate: "tool_call", toolCallId: String(index + 1), ...one }),
  );
  return new ReplayedCalls(known, ENTRY);
}

const again = (replay: ReplayedCalls, toolCallId: string, one: JsonObject) =>
  replay.repeats({ sessionUpdate: "tool_call", toolCallId, ...one });

describe("a call that an agent reports while it loads a session", () => {
  test("repeats one with the same tool, arguments and files, under any id", () => {
    expect(again(replayOf(ls), "1", ls)).toBe(true);
    expect(again(replayOf(ls), "other", ls)).toBe(true);
    expect(again(replayOf(edit), "1", { ...edit, locations: [{ path: "/w/a" }] })).toBe(true);
  });

  test.each<[string, JsonObject]>([
    ["another tool", { ...edit, name: "Bash" }],
    ["other arguments", { ...edit, rawInput: { path: "/w/b" } }],
    ["another file", { ...edit, content: [{ type: "diff", path: "/etc/passwd", newText: "x" }] }],
    ["one more file", { ...edit, locations: [{ path: "/w/a" }, { path: "/w/b" }] }],
    ["a terminal", { ...edit, content: [{ type: "terminal", terminalId: "t" }] }],
  ])("is new with %s", (_, one) => {
    expect(again(replayOf(edit), "1", one)).toBe(false);
    expect(again(replayOf(edit), "other", one)).toBe(false);
  });

  test("is new where it was only read before and is changed now", () => {
    const read = { name: "Write", rawInput: { path: "/w/a" }, locations: [{ path: "/w/a" }] };
    expect(again(replayOf(read), "1", edit)).toBe(false);
    expect(again(replayOf(edit), "1", read)).toBe(true);
  });

  test("repeats each call once; what follows under its id belongs to it", () => {
    const replay = replayOf(ls);
    expect(again(replay, "a", ls)).toBe(true);
    expect(again(replay, "a", { status: "completed" })).toBe(true);
    expect(again(replay, "a", { rawInput: { command: "rm -r ." } })).toBe(false);
    expect(again(replay, "b", ls)).toBe(false);
  });

  test("repeats as many as there were, each under another id", () => {
    const replay = replayOf(ls, ls, edit);
    expect([again(replay, "a", ls), again(replay, "b", ls), again(replay, "c", ls)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(again(replay, "d", edit)).toBe(true);
  });

  test("without arguments repeats only the one of its id", () => {
    const replay = replayOf(ls, edit);
    expect(again(replay, "other", { name: "Bash" })).toBe(false);
    expect(again(replay, "2", { name: "Write" })).toBe(true);
    expect(again(replay, "2", { name: "Bash" })).toBe(false);
  });

  test("prefers the call of its own id among equal ones", () => {
    const replay = replayOf(ls, ls);
    expect(again(replay, "2", ls)).toBe(true);
    expect(again(replay, "1", { status: "completed" })).toBe(true);
  });
});

describe("what a call ran", () => {
  test("names its tool only where more than its kind does", () => {
    const of = (reported: JsonObject) => ranBy({ reported, first: reported, named: undefined }, ENTRY);
    expect(of(ls).tool).toBe("Bash");
    expect(of({ kind: "read" }).tool).toBeUndefined();
    expect(ranBy({ reported: ls, first: ls, named: "Shell" }, ENTRY).tool).toBe("Shell");
  });

  test("is what was kept of it, for a call of an earlier turn", () => {
    const past = { tool: "Bash", digest: "d" };
    expect(ranBy({ reported: {}, first: {}, named: "Read", past }, ENTRY)).toBe(past);
  });

  test("has a digest for any arguments, none among them, that differs with them", () => {
    const digests = [undefined, null, {}, { a: 1 }, { a: "1" }, [], "text"].map(argumentsDigest);
    expect(new Set(digests).size).toBe(digests.length);
    expect(argumentsDigest({ a: 1 })).toBe(argumentsDigest({ a: 1 }));
  });
});
