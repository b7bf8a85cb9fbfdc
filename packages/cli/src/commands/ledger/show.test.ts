import { describe, expect, it } from "vitest";
import { describeSummary, type Summary } from "./ledger.ts";

const key = (key_id: string, holder: string, retired_at: string | null = null) => ({
  key_id,
  holder,
  public_key: "",
  added_at: "2026-11-15T05:20:00.000Z",
  added: 0,
  retired_at,
  retired: retired_at === null ? null : 1,
});

const summary: Summary = {
  home: "/home",
  origin: "reins/0011",
  log_key: "reins/0011+ab+cd",
  size: 1_234,
  newest: "2026-11-15T05:20:00.000Z",
  checkpoint: { size: 1_234, root: "cm9vdA==", note: "" },
  sessions: {
    count: 2,
    recent: [{ entity_id: "reed:ahp:\u202e1", seq: 7, timestamp: "2026-11-15T05:19:00.000Z" }],
  },
  keys: [key("1", "reins:system"), key("2", "reed", "2026-11-15T05:21:00.000Z"), key("3", "reed")],
};

describe("the summary of a ledger", () => {
  it("is formatted", () => {
    expect(describeSummary(summary)).toBe(
      [
        "ledger      reins/0011",
        "home        /home",
        "log key     reins/0011+ab+cd",
        "entries     1,234, the newest of 2026-11-15T05:20:00.000Z",
        "checkpoint  covers them all",
        "root        cm9vdA==",
        "sessions    2",
        "            2026-11-15T05:19:00.000Z  reed:ahp:\\u{202e}1",
        "keys        reins:system, reed; 1 retired",
        "",
      ].join("\n"),
    );
  });

  it("shows how many entries are not covered yet", () => {
    const text = describeSummary({ ...summary, checkpoint: { ...summary.checkpoint, size: 1_230 } });
    expect(text).toContain("checkpoint  1,230 entries; 4 wait for the next\n");
  });
});
