import { describe, expect, test } from "vitest";
import { continuation, earlierWork, repeats } from "./earlier-work.ts";

type Quality = "policy_verdict" | "tool_result" | "turn";

const entry = (quality: Quality, payload: object, more: object = {}) => ({
  ...{ cid: "c", quality, target: "run_command", tags: [], payload },
  ...more,
});
const allowed = (cid: string, effects: readonly object[] = []) =>
  entry("policy_verdict", { event_type: "pre_action", verdict: "allowed", facts: { effects } }, { cid });
const result = (verdict: string, outcome: string) => entry("tool_result", { verdict, outcome });
const prompted = entry("policy_verdict", { event_type: "pre_prompt", verdict: "allowed" });
const turn = entry("turn", { stop_reason: "end_turn", usage: { tokens: 7 } });
const say = (text: string, _meta?: object) => ({
  sessionId: "s",
  kind: "agent_message_chunk",
  update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, ...(_meta && { _meta }) },
});
const called = { sessionId: "s", kind: "tool_call", update: { sessionUpdate: "tool_call", toolCallId: "t" } };

describe("what a child did in an earlier process", () => {
  test("is nothing before it was prompted, cut off in its turn, and over after it", () => {
    expect(earlierWork([], []).state).toBe("unprompted");
    expect(earlierWork([prompted], []).state).toBe("cut");
    expect(earlierWork([prompted, turn], [])).toMatchObject({
      state: "over",
      stopReason: "end_turn",
      tokens: 7,
    });
    expect(earlierWork([prompted, turn, prompted], []).state).toBe("cut");
  });

  test("has the effects since its last turn, of unknown outcome where no result is recorded", () => {
    const { effects, calls } = earlierWork(
      [
        allowed("old"),
        turn,
        prompted,
        allowed("a"),
        result("a", "completed"),
        allowed("b"),
        result("b", "failed"),
        allowed("c"),
      ],
      [],
    );
    expect(effects.map(({ outcome }) => outcome)).toEqual(["completed", "unknown"]);
    expect(calls).toBe(4);
  });

  test("has what it changed in all its turns, also what no verdict came before", () => {
    const claims = (kind: string) => ({ claims: { kind }, opaque: false, effects: [] });
    const verdict = (cid: string, kind: string, event_type = "pre_action") =>
      entry("policy_verdict", { event_type, verdict: "allowed", facts: claims(kind) }, { cid, target: cid });
    const { changes } = earlierWork(
      [
        ...[prompted, verdict("sent", "other"), result("sent", "completed"), verdict("read", "read")],
        ...[verdict("open", "edit"), verdict("seen", "edit", "post_action"), turn, prompted],
        ...[verdict("failed", "edit"), result("failed", "failed"), verdict("last", "execute")],
      ],
      [],
    );
    expect(changes.map(({ tool, outcome, isUngated }) => [tool, outcome, isUngated])).toEqual([
      ["sent", "completed", false],
      ["seen", "completed", true],
      ["open", "unknown", false],
      ["failed", "failed", false],
      ["last", "unknown", false],
    ]);
  });

  test("does not have the message that was cut off", () => {
    const notice = say("Reins was restarted.", { reins: { interrupted: true } });
    const { said } = earlierWork([], [say("First."), called, say("The ans"), notice, say("The answer.")]);
    expect(said.text).toBe("First.\nThe answer.");
  });
});

describe("an action after a restart", () => {
  const write = (path: string) => ({
    ...{ kind: "write" as const, path, place: "workspace" as const, destroys: false },
  });
  const action = (path: string) => ({
    ...{ tool: "write_file", arguments: {}, claims: {}, doubts: [], opaque: false, effects: [write(path)] },
  });
  const same = (value: unknown) => value;

  test("asks a person where it did the same, or its tool was under way", () => {
    // As the ledger has it: the members in another order.
    const { kind, path, place, destroys } = write("/a");
    const recorded = [{ destroys, kind, path, place }];
    const done = repeats([{ tool: "write_file", effects: recorded, outcome: "completed" }], same);
    expect(done?.(action("/a"))).toMatch(/did the same/);
    expect(done?.(action("/b"))).toBeUndefined();
    // The file is there now, because it was written.
    expect(done?.({ ...action("/a"), effects: [{ ...write("/a"), destroys: true }] })).toMatch(
      /did the same/,
    );
    const open = repeats([{ tool: "write_file", effects: [], outcome: "unknown" }], same);
    expect(open?.(action("/b"))).toMatch(/under way/);
    expect(open?.({ ...action("/b"), effects: [] })).toBeUndefined();
    expect(repeats([], same)).toBeUndefined();
    const sent = repeats([{ tool: "send_message", effects: [], outcome: "completed" }], same);
    const send = { ...action("/a"), tool: "send_message", effects: [] };
    expect(sent?.({ ...send, claims: { kind: "other" } })).toMatch(/did the same/);
    expect(sent?.({ ...send, claims: { kind: "read" } })).toBeUndefined();
  });

  test("is prompted with what was done, what is not known, and what people answered", () => {
    const text = continuation(
      "Do it.",
      {
        effects: [
          { tool: "a", effects: [], outcome: "completed" },
          { tool: "b", effects: [], outcome: "unknown" },
        ],
      },
      [
        { tool: "c", arguments: { x: 1 }, isAllowed: true },
        { tool: "d", arguments: {}, isAllowed: false },
      ],
    );
    expect(text).toMatch(
      /stays done[\s\S]*- a[\s\S]*not known[\s\S]*- b[\s\S]*allowed this[\s\S]*- c \{"x":1\}[\s\S]*not allowed:\n- d[\s\S]*Do it\.$/,
    );
  });
});
