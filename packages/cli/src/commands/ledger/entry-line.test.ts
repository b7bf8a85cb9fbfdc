import type { LedgerEntry } from "@reins/ledger";
import { describe, expect, it } from "vitest";
import { entryLine, entrySummary } from "./log.ts";

const entry: LedgerEntry = {
  cid: "0123456789abcdef".repeat(4),
  entity_id: "reed:ahp:1",
  target: "bash",
  quality: "policy_verdict",
  timestamp: "2026-11-15T05:20:00.000Z",
  source: "reed:ahp:1",
  actor: "reins:system",
  parents: [],
  tags: [],
  payload: { verdict: "blocked", reason: "no policy is loaded", event_type: "pre_action" },
  proof: null,
  envelope: null,
};
const plain = { color: false, width: undefined };

describe("a line of the log", () => {
  it("shows time, quality, actor, target and content id", () => {
    expect(entryLine(entry, plain)).toBe(
      "2026-11-15T05:20:00.000Z  policy_verdict     reins:system      bash              0123456789ab  blocked pre_action: no policy is loaded",
    );
  });

  it("fits the width of the terminal", () => {
    const line = entryLine(entry, { color: false, width: 110 });
    expect(line).toHaveLength(110);
    expect(line).toMatch(/…$/);
    expect(entryLine(entry, { color: false, width: 20 })).not.toContain("\n");
  });

  it("is one line without control characters", () => {
    const payload = { text: "a\nb\u001b[2J", "\u202e": "\u009b" };
    const line = entryLine(
      { ...entry, quality: "turn", actor: "\u001b]0;x\u0007", target: "x\ny", payload },
      plain,
    );
    expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(line).toContain("\\u{1b}");
    expect(line).toContain("\\u{202e}");
  });

  it("cuts long names and never half a character", () => {
    const line = entryLine({ ...entry, actor: "🐎".repeat(20) }, plain);
    expect(line.isWellFormed()).toBe(true);
    expect(line).toContain("…");
  });

  it("is coloured on a terminal that can", () => {
    expect(entryLine(entry, { color: true, width: undefined })).toContain("\u001b[31mpolicy_verdict");
  });
});

const gist = (quality: LedgerEntry["quality"], payload: unknown) =>
  entrySummary({ quality, payload, envelope: null });

describe("the summary of an entry", () => {
  it.each<[LedgerEntry["quality"], unknown, string]>([
    [
      "policy_verdict",
      { verdict: "blocked", reason: "no policy is loaded", event_type: "pre_action", depth: 0 },
      "blocked pre_action: no policy is loaded",
    ],
    [
      "policy_change",
      { change: "key_added", key_id: "0123", holder: "reed", public_key: "x" },
      "key_added 0123 of reed",
    ],
    ["policy_change", { change: "key_retired", key_id: "0123" }, "key_retired 0123"],
    ["policy_change", { change: "rules", rules_hash: "ab" }, 'rules {"rules_hash":"ab"}'],
    ["session_lifecycle", { event: "server_stop" }, "server_stop"],
    ["session_lifecycle", { event: "server_start", version: "1" }, 'server_start {"version":"1"}'],
    ["policy_change", { change: "agent_added", agent: "reed", before: null }, "agent_added reed"],
    ["policy_change", { change: "constitution", rules: 14, rules_text: "…" }, "constitution, 14 rules"],
    ["session_lifecycle", { change: "session_start", cwd: "/w", subject: {} }, "session_start in /w"],
    ["session_lifecycle", { change: "session_end", subject: {} }, "session_end"],
    [
      "approval",
      { state: "pending", approval: "apr_1", agent: "reed", tool: "bash", reason: "it is opaque" },
      "pending apr_1: reed asks for bash, it is opaque",
    ],
    [
      "approval",
      { state: "approved", approval: "apr_1", answer: { by: "user:default/ann", decision: "allow_once" } },
      "approved apr_1: user:default/ann said allow_once",
    ],
    [
      "approval",
      { state: "withdrawn", approval: "apr_1", reason: "cancelled" },
      "withdrawn apr_1: cancelled",
    ],
    ["turn", { stop_reason: "end_turn", usage: { tokens: 7 } }, "end_turn, 7 tokens"],
    ["turn", { stop_reason: "end_turn", usage: { tokens: 7, estimated: true } }, "end_turn, about 7 tokens"],
    ["tool_result", { outcome: "completed", enforcement: "performed" }, "completed, performed"],
    ["tool_result", { outcome: "cut", usage: { tokens: 9, estimated: true } }, "cut, about 9 tokens"],
    [
      "kill",
      { target: { kind: "agent", name: "claude" }, gone: [{}, {}], left: [], reason: "a drill" },
      "agent claude: 2 processes gone, 0 left: a drill",
    ],
    ["turn", { n: 1, text: "hello" }, '{"n":1,"text":"hello"}'],
    ["turn", null, "null"],
    ["turn", ["a"], '["a"]'],
    ["policy_verdict", { anything: 1 }, '{"anything":1}'],
  ])("of %s %j is %s", (quality, payload, expected) => {
    expect(gist(quality, payload)).toBe(expected);
  });

  it("names private content without its path", () => {
    const reference = { $private: { digest: "d".repeat(64), size: 12 } };
    expect(gist("tool_call", { tool: "bash", arguments: reference })).toBe(
      '{"tool":"bash","arguments":"[private, 12 bytes]"}',
    );
  });

  it("shows the audience of sealed content", () => {
    const envelope = { audience_label: "board", encrypted_key: "k", ciphertext: "c" };
    expect(entrySummary({ quality: "turn", payload: { sealed: true }, envelope })).toBe("sealed for board");
  });
});
