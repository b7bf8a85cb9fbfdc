import type { PlacedEntry } from "@reins/api";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { rendered, renderedText } from "../../../test/render.ts";
import type { VerifyReport } from "../../proof/verify.ts";
import { CoveredPanel } from "./entry-page.tsx";
import { LedgerSearch } from "./filters.tsx";
import { LedgerCheckPanel } from "./ledger-page.tsx";

type Check = Parameters<typeof LedgerCheckPanel>[0]["check"];
const panel = (check: Check) => createElement(LedgerCheckPanel, { check, onStop: () => undefined });
const done = (report: Partial<VerifyReport>) =>
  renderedText(panel({ kind: "done", report: { ok: true, faults: [], ...report } }));

describe("a verification of the whole ledger", () => {
  test("shows nothing before it starts, and its error if it fails", () => {
    expect(renderedText(panel({ kind: "none" }))).toBe("");
    expect(renderedText(panel({ kind: "failed", error: new Error("no ledger") }))).toContain("no ledger");
  });

  test("shows its progress, with a total once it is known", () => {
    expect(renderedText(panel({ kind: "running" }))).toContain("0 entries");
    const progress = { entries: 1_500, total: 3_000 };
    expect(renderedText(panel({ kind: "running", progress }))).toContain("1,500 of 3,000 entries");
    expect(rendered(panel({ kind: "running", progress }))).toContain('aria-valuenow="50"');
  });

  test("reports what was verified, and with which key", () => {
    const shown = done({ entries: 12, signatures: 3, checkpoints: 2, pinned: true });
    expect(shown).toContain("The ledger holds verified");
    expect(shown).toContain("12 entries, 3 signatures, 2 checkpoints");
    expect(shown).toContain("the one this browser keeps");
    expect(done({ pinned: false })).toContain("the one the ledger itself states");
  });

  test("compares with the kept checkpoint", () => {
    expect(done({ seen: { checked: true, holds: true, size: 7 } })).toContain("it extends the 7 entries");
    expect(done({ seen: { checked: true, holds: false, size: 7 } })).toContain("it is NOT the ledger");
    expect(done({})).toContain("this browser has nothing to compare with");
  });

  test("lists faults, and content that is known by digest only", () => {
    const shown = done({
      ok: false,
      faults: [{ code: "inclusion_invalid", message: "a leaf is missing", seq: 4 }],
    });
    expect(shown).toContain("The ledger does not hold not verified");
    expect(shown).toContain("Entry 4: a leaf is missing");
    expect(done({ withheld: 2 })).toContain("2 pieces of private content");
  });
});

describe("the entries that an entry refers to", () => {
  const cid = "d".repeat(64);
  const placed = (quality: PlacedEntry["entry"]["quality"], payload: unknown): PlacedEntry => ({
    seq: 1,
    entry: {
      cid: "c".repeat(64),
      entity_id: "native:acp:1",
      target: "read_file",
      quality,
      timestamp: "2026-01-01T00:00:00.000Z",
      source: "native:acp:1",
      actor: "native",
      parents: [],
      tags: [],
      payload,
      proof: null,
      envelope: null,
    },
  });
  const covered = (quality: PlacedEntry["entry"]["quality"], payload: unknown) =>
    createElement(CoveredPanel, { placed: placed(quality, payload) });

  test("are the verdict of a tool call, or its absence", () => {
    expect(rendered(covered("tool_call", { verdict: cid }))).toContain(`href="/ui/ledger/${cid}"`);
    expect(renderedText(covered("tool_call", { verdict: null }))).toContain("No verdict before");
    expect(renderedText(covered("tool_result", { verdict: "../evil" }))).toContain("No verdict before");
  });

  test("are the approval, by its id", () => {
    expect(rendered(covered("approval", { approval: "p-1" }))).toContain('href="/ui/approvals?approval=p-1"');
  });

  test("are the content ids of a turn, and nothing else", () => {
    const html = rendered(covered("turn", { entries: [cid, 7, "../evil", cid.toUpperCase()] }));
    expect(html).toContain("Entries of this turn: 1");
    expect(html.match(/\/ui\/ledger\//g)).toHaveLength(1);
  });

  test("are none for a verdict", () => {
    expect(renderedText(covered("policy_verdict", { verdict: "allowed" }))).toBe("");
  });
});

describe("the search parameters of the ledger", () => {
  test("are kept if they are valid", () => {
    const search = {
      quality: "policy_verdict",
      session: "s",
      agent: "a",
      tag: "blocked",
      since: "2026-01-01T00:00:00Z",
    };
    expect(LedgerSearch.parse(search)).toEqual(search);
  });

  test.each([
    { quality: "gossip" },
    { session: "" },
    { agent: 7 },
    { tag: "x".repeat(1_025) },
    { since: "yesterday" },
    { other: "x" },
  ])("ignore %j", (search) => {
    const read = LedgerSearch.parse(search);
    expect(Object.values(read).filter((value) => value !== undefined)).toEqual([]);
  });
});
