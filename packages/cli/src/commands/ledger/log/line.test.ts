import type { LedgerEntry } from "@reins/ledger";
import { describe, expect, it } from "vitest";
import { lineOf } from "./line.ts";

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
  it("says when, what, who, about what, and in which entry", () => {
    expect(lineOf(entry, plain)).toBe(
      "2026-11-15T05:20:00.000Z  policy_verdict     reins:system      bash              0123456789ab  blocked pre_action: no policy is loaded",
    );
  });

  it("stays within the terminal", () => {
    const line = lineOf(entry, { color: false, width: 110 });
    expect(line).toHaveLength(110);
    expect(line).toMatch(/…$/);
    expect(lineOf(entry, { color: false, width: 20 })).not.toContain("\n");
  });

  it("is one line, and steers no terminal, whatever the entry says", () => {
    const payload = { text: "a\nb\u001b[2J", "\u202e": "\u009b" };
    const line = lineOf(
      { ...entry, quality: "turn", actor: "\u001b]0;x\u0007", target: "x\ny", payload },
      plain,
    );
    expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(line).toContain("\\u{1b}");
    expect(line).toContain("\\u{202e}");
  });

  it("cuts long names and never half a character", () => {
    const line = lineOf({ ...entry, actor: "🐎".repeat(20) }, plain);
    expect(line.isWellFormed()).toBe(true);
    expect(line).toContain("…");
  });

  it("is coloured on a terminal that can", () => {
    expect(lineOf(entry, { color: true, width: undefined })).toContain("\u001b[31mpolicy_verdict");
  });
});
