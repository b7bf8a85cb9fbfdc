import type { PlacedEntry } from "@reins/ledger";
import { describe, expect, test } from "vitest";
import { ledgerEvents } from "./ledger-events.ts";

const entry: Omit<PlacedEntry["entry"], "payload"> = {
  ...{ cid: "c".repeat(64), entity_id: "a:b:c", target: "bash", quality: "policy_verdict" },
  ...{ timestamp: "2026-11-15T00:00:00.000Z", source: "a:b:c", actor: "a", parents: [], tags: [] },
  ...{ proof: null, envelope: null },
};
const appended = { type: "ledger_append", cid: entry.cid };

describe("the events of an entry", () => {
  test("are a gate and that it was added, for a verdict about a tool", () => {
    const payload = {
      ...{ event_type: "pre_action", verdict: "blocked", rule: "no_shell", reason: "not on the roster" },
      constitution_hash: "d".repeat(64),
    };
    expect(ledgerEvents({ ...entry, payload })).toEqual([
      {
        ...{ type: "policy_gate", tool: "bash", verdict: "blocked", rule: "no_shell" },
        ...{ reason: "not on the roster", constitution_hash: "d".repeat(64) },
      },
      { ...appended, quality: "policy_verdict" },
    ]);
    const bare = { event_type: "pre_action", verdict: "blocked", reason: "no matching policy rule" };
    expect(ledgerEvents({ ...entry, payload: bare })[0]).toMatchObject({
      rule: null,
      constitution_hash: null,
    });
  });

  test("are only that it was added, for other verdicts and entries", () => {
    for (const event_type of ["pre_prompt", "tool_offer"])
      for (const quality of ["policy_verdict", "turn", "tool_call"] as const)
        expect(ledgerEvents({ ...entry, quality, payload: { event_type } })).toEqual([
          { ...appended, quality },
        ]);
  });

  test("are a letter and that it was added, for mail", () => {
    const payload = { message: "m1", from: "coder", subject: "rain", timestamp: "now" };
    expect(ledgerEvents({ ...entry, quality: "mailbox_inject", payload })).toEqual([
      { type: "mailbox_injected", message_id: "m1", from: "coder", subject: "rain", timestamp: "now" },
      { ...appended, quality: "mailbox_inject" },
    ]);
  });
});
