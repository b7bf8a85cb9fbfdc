import { expect, test } from "vitest";
import { EntryList, entry, verdict } from "../../test/entries.ts";
import { AuditRecords, cursorIn, cursorText, isCursorOf, readCursor } from "./records.ts";

test("a cursor is read as it is written, and nothing else is one", () => {
  const cursor = { seq: 12, cid: "a".repeat(64) };
  expect(readCursor(cursorText(cursor))).toEqual(cursor);
  expect(readCursor("0")).toEqual({ seq: 0, cid: undefined });
  for (const text of ["", "-1", "1.", "1.xyz", `1.${"A".repeat(64)}`, "1e3", " 1", "9".repeat(16), "1.5"])
    expect(readCursor(text), text).toBeUndefined();
});

test("a record of either format names its cursor", async () => {
  const made = verdict("allowed");
  const ledger = new EntryList([made]);
  for (const format of ["jsonl", "ocsf"] as const) {
    const line = await new AuditRecords(ledger, format, "1").line({ seq: 0, entry: made });
    expect(line.endsWith("\n")).toBe(true);
    expect(cursorIn(line)).toEqual({ seq: 0, cid: made.cid });
  }
  for (const line of ["{", "5", "null", "{}", '{"metadata":{}}', '{"cursor":"x"}'])
    expect(cursorIn(line)).toBeUndefined();
});

test("a tool call is of the class that the effects of its verdict have", async () => {
  const made = verdict("allowed", [{ kind: "exec", command: "ls", arguments: [], opaque: false }]);
  const call = entry("tool_call", { payload: { verdict: made.cid } });
  const records = new AuditRecords(new EntryList([made, call]), "ocsf", "1");
  expect(JSON.parse(await records.line({ seq: 1, entry: call }))).toMatchObject({ class_uid: 1007 });
  const foreign = entry("tool_call", { payload: { verdict: "f".repeat(64) } });
  expect(JSON.parse(await records.line({ seq: 2, entry: foreign }))).toMatchObject({ class_uid: 6003 });
});

test("a cursor belongs to the ledger that has its entry at its place", async () => {
  const [first, second] = [verdict("allowed"), verdict("blocked")];
  const ledger = new EntryList([first, second]);
  expect(await isCursorOf(ledger, { seq: 1, cid: second.cid })).toBe(true);
  expect(await isCursorOf(ledger, { seq: -1 })).toBe(true);
  expect(await isCursorOf(ledger, { seq: 1, cid: first.cid })).toBe(false);
  expect(await isCursorOf(ledger, { seq: 2, cid: second.cid })).toBe(false);
});
