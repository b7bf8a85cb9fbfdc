import { expect, it } from "vitest";
import { type ExportLine, jcs, LedgerMaker, ORIGIN } from "../../test/ledger-maker.ts";
import { treeRoot } from "../../test/merkle.ts";
import { faultsOf, verifyWhole } from "../../test/read.ts";
import { blake3Hex } from "../../test/signer.ts";
import type { JsonValue } from "../json/parse.ts";

/** An export whose second entry is whatever a writer made of it, its content id and all else being right. */
async function faultsWith(change: (entry: ExportLine) => ExportLine): Promise<string[]> {
  const ledger = new LedgerMaker();
  ledger.append({ quality: "tool_call", entity: "session:one" });
  const lines = ledger.lines();
  const { cid: _, ...content } = change({ ...ledger.entries[1]! });
  const cid = blake3Hex(Buffer.from(jcs(content)));
  const leaves = [ledger.entries[0]!.cid, cid].map((one) => Buffer.from(one, "hex"));
  const note = ledger.log.checkpoint(ORIGIN, 2, treeRoot(leaves));
  const changed = lines.with(2, { kind: "entry", seq: 1, entry: { cid, ...content } });
  return faultsOf(await verifyWhole(changed.toSpliced(3, 0, { kind: "checkpoint", note })));
}

it.each<[string, ExportLine]>([
  ["a quality that is none", { quality: "thought" }],
  ["a time that is none", { timestamp: "yesterday" }],
  ["a time in another zone", { timestamp: "2026-11-15T05:20:00.000+01:00" }],
  ["a parent that is no content id", { parents: ["A".repeat(64)] }],
  ["parents that are no array", { parents: null }],
  ["a tag that is no text", { tags: [1] }],
  ["a proof that is no object", { proof: "yes" }],
  ["an envelope that is no object", { envelope: [] }],
  ["an actor that is no text", { actor: { name: "x" } }],
  ["a thirteenth member", { note: "" }],
])("an entry with %s is named", async (_, change) => {
  expect(await faultsWith((entry) => ({ ...entry, ...change }))).toEqual(["entry_malformed@1"]);
});

it.each([
  "entity_id",
  "target",
  "quality",
  "timestamp",
  "source",
  "actor",
  "parents",
  "tags",
  "payload",
  "proof",
  "envelope",
])("an entry without %s is named", async (member) => {
  const without = (entry: ExportLine): ExportLine =>
    Object.fromEntries(Object.entries(entry).filter(([name]) => name !== member));
  expect(await faultsWith(without)).toEqual(["entry_malformed@1"]);
});

it("an entry that is too large is named", async () => {
  expect(await faultsWith((entry) => ({ ...entry, payload: "x".repeat(1024 * 1024) }))).toEqual([
    "entry_too_large@1",
  ]);
  // What counts is bytes, not characters.
  expect(await faultsWith((entry) => ({ ...entry, payload: "€".repeat(400_000) }))).toEqual([
    "entry_too_large@1",
  ]);
  expect(await faultsWith((entry) => ({ ...entry, payload: "x".repeat(1024 * 1024 - 600) }))).toEqual([]);
});

it("an entry that is nested too deep is named; the entry itself is the first level", async () => {
  const nested = (depth: number): JsonValue => (depth === 0 ? 1 : [nested(depth - 1)]);
  expect(await faultsWith((entry) => ({ ...entry, payload: nested(63) }))).toEqual([]);
  expect(await faultsWith((entry) => ({ ...entry, payload: nested(64) }))).toEqual(["entry_not_plain@1"]);
});

it("an entry that is no object is named", async () => {
  const ledger = new LedgerMaker();
  const lines = ledger.lines().toSpliced(2, 0, { kind: "entry", seq: 1, entry: null });
  expect(faultsOf(await verifyWhole(lines))).toContain("entry_malformed@1");
});

it.each(["a number beyond doubles", "half a surrogate pair"])("an entry with %s is named", async (what) => {
  const ledger = new LedgerMaker();
  ledger.append({ quality: "tool_call", payload: "here" });
  ledger.checkpoint();
  const text = ledger
    .lines()
    .map((line) => JSON.stringify(line))
    .join("\n");
  const changed = text.replace('"here"', what.startsWith("a number") ? "1e999" : '"\\ud800"');
  expect(faultsOf(await verifyWhole(changed))).toEqual(["entry_not_plain@1"]);
});
