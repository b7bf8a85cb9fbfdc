import { describe, expect, it } from "vitest";
import { type ExportLine, LedgerMaker, ORIGIN } from "../../test/ledger-maker.ts";
import { treeRoot } from "../../test/merkle.ts";
import { faultsIn, faultsOf, verifyWhole } from "../../test/read.ts";
import { makeSample } from "../../test/sample.ts";
import { Signer } from "../../test/signer.ts";
import { recounted } from "../../test/tamper.ts";
import type { VerifyOptions } from "../note.ts";

const { ledger, seen, seenSize } = makeSample();
const lines = ledger.lines();
const pinned = { logKey: ledger.logKey };
const KILL = 18;

const faultsAfter = (changed: readonly ExportLine[], options: VerifyOptions = pinned) =>
  faultsIn(changed, options);

describe("checkpoints", () => {
  const places = lines.flatMap(({ kind }, index) => (kind === "checkpoint" ? [index] : []));
  const [firstPlace = 0, secondPlace = 0] = places;
  const last = ledger.checkpoints.at(-1)!;

  function withNote(place: number, note: string): ExportLine[] {
    return lines.with(place, { kind: "checkpoint", note });
  }

  it("with another root", async () => {
    const note = last.note.replace(
      /\n(.)(.*=)\n\n/,
      (_, first: string, rest: string) => `\n${first === "A" ? "B" : "A"}${rest}\n\n`,
    );
    expect(await faultsAfter(withNote(places.at(-1)!, note))).toEqual([
      "root_mismatch@15",
      "checkpoint_signature",
    ]);
  });

  it("of another size", async () => {
    const note = ledger.checkpoints[1]!.note.replace("\n11\n", "\n12\n");
    expect(await faultsAfter(withNote(secondPlace, note))).toEqual([
      "checkpoint_misplaced",
      "checkpoint_signature",
    ]);
  });

  it("signed with another key", async () => {
    const note = new Signer("thief").checkpoint(ORIGIN, last.size, treeRoot(ledger.leaves));
    expect(await faultsAfter(withNote(places.at(-1)!, note))).toEqual(["checkpoint_signature"]);
  });

  it("of another ledger with the same key", async () => {
    const note = ledger.log.checkpoint("elsewhere", last.size, treeRoot(ledger.leaves));
    expect(await faultsAfter(withNote(places.at(-1)!, note))).toEqual(["origin_mismatch"]);
  });

  it("malformed", async () => {
    expect(await faultsAfter(withNote(firstPlace, "nothing"))).toEqual(["checkpoint_malformed"]);
  });

  it("exchanged, repeated, moved or missing at the end", async () => {
    const [first, second] = [lines[firstPlace]!, lines[secondPlace]!];
    expect(await faultsAfter(lines.with(firstPlace, second).with(secondPlace, first))).toEqual([
      "checkpoint_misplaced",
      "checkpoint_order",
    ]);
    expect(await faultsAfter(lines.toSpliced(firstPlace, 0, first))).toEqual(["checkpoint_order"]);
    expect(await faultsAfter(lines.toSpliced(firstPlace, 1).toSpliced(firstPlace + 1, 0, first))).toEqual([
      "checkpoint_misplaced",
    ]);
    expect(await faultsAfter(lines.toSpliced(places.at(-1)!, 1))).toEqual(["entries_uncovered@15"]);
  });

  it("all signed again with a key of the forger's own, who also changed the header", async () => {
    const thief = new Signer("thief");
    const logKey = thief.verifierKey(ORIGIN);
    const forged = lines.map((line) => {
      if (line.kind === "header") return { ...line, log_key: logKey };
      if (line.kind !== "checkpoint") return line;
      const size = Number(String(line.note).split("\n")[1]);
      return { ...line, note: thief.checkpoint(ORIGIN, size, treeRoot(ledger.leaves.slice(0, size))) };
    });
    expect(await verifyWhole(forged)).toMatchObject({ ok: true, pinned: false, logKey });
    expect(await faultsAfter(forged)).toContain("log_key_mismatch");
    expect(await faultsAfter(forged, { seen })).toEqual(["seen_signature"]);
  });
});

describe("with a checkpoint from an earlier day", () => {
  const [, , third] = ledger.checkpoints;

  it("a ledger that was cut off is not taken for one that never grew", async () => {
    const kept = lines.slice(0, lines.findIndex(({ note }) => note === third!.note) + 1);
    const cut = recounted([...kept, lines.at(-1)!]);
    const report = await verifyWhole(cut, pinned);
    expect(report.ok).toBe(true);
    expect(report.remarks).toContain(
      "without an earlier checkpoint a shortened or rolled-back log cannot be ruled out",
    );
    expect(await faultsAfter(cut, { ...pinned, seen: ledger.checkpoints.at(-1)!.note })).toEqual([
      "seen_shorter@15",
    ]);
    expect(await verifyWhole(cut, { ...pinned, seen })).toMatchObject({
      ok: true,
      seen: { holds: true, size: seenSize },
    });
  });

  it("a ledger that was rolled back and grew again differently is found out, though its log signed it", async () => {
    const regrown = new LedgerMaker();
    while (regrown.entries.length < 30) regrown.append({ quality: "tool_call", entity: "session:one" });
    regrown.checkpoint();
    expect(await verifyWhole(regrown.lines(), pinned)).toMatchObject({ ok: true });
    const report = await verifyWhole(regrown.lines(), { ...pinned, seen });
    expect(faultsOf(report)).toEqual(["seen_forked"]);
    expect(report.seen).toEqual({ checked: true, holds: false, size: seenSize });
  });

  it("a kill that was taken out again is found out", async () => {
    const without = recounted(lines.filter(({ seq }) => seq !== KILL));
    expect(await faultsAfter(without, { ...pinned, seen: ledger.checkpoints.at(-1)!.note })).toEqual(
      expect.arrayContaining(["seen_shorter@18"]),
    );
  });
});
