import { describe, expect, it } from "vitest";
import { attestation, type ExportLine } from "../../test/ledger-maker.ts";
import { faultsIn, verifyWhole } from "../../test/read.ts";
import { envelope, makeSample } from "../../test/sample.ts";
import { Signer } from "../../test/signer.ts";
import { entryOf, lineOf, recounted, resealed, withEntry } from "../../test/tamper.ts";
import type { Entry } from "../entry/entry.ts";
import type { JsonObject, JsonValue } from "../json/parse.ts";
import type { VerifyOptions } from "../note.ts";

const { ledger, person } = makeSample();
const lines = ledger.lines();
const pinned = { logKey: ledger.logKey };

const CONSTITUTION = 3;
const FIRST_TURN = 5;
const CALL = 7;
const VERDICT = 8;
const SEALED = 12;

const faultsAfter = (changed: readonly ExportLine[], options: VerifyOptions = pinned) =>
  faultsIn(changed, options);

describe("one field of an entry", () => {
  const changes = new Map<string, (value: JsonValue) => JsonValue>([
    ["parents", (value) => [Array.isArray(value) && value[0] ? flip(String(value[0])) : "0".repeat(64)]],
    ["tags", (value) => [value, "more"].flat()],
    ["payload", (value) => ({ was: value })],
    [
      "proof",
      (value) => (value === null ? { type: "zk_stark", stark_proof: "", public_inputs: null } : null),
    ],
    ["envelope", (value) => (value === null ? envelope() : null)],
  ]);

  it.each(Object.keys(entryOf(lines[1])))("%s: the entry is named, whichever it is", async (member) => {
    const change = changes.get(member) ?? ((value) => flip(String(value)));
    for (const seq of ledger.entries.keys()) {
      const changed = lines.map((line) => {
        if (line.seq !== seq) return line;
        const entry: JsonObject = entryOf(line);
        return { ...line, entry: { ...entry, [member]: change(entry[member] ?? null) } };
      });
      const faults = await faultsAfter(changed);
      expect(
        faults.filter((fault) => fault.endsWith(`@${seq}`)),
        `entry ${seq}`,
      ).not.toEqual([]);
    }
  });

  it("does not make its neighbours suspicious when the content id stays as it was", async () => {
    expect(await faultsAfter(withEntry(lines, CALL, () => ({ payload: {} })))).toEqual([
      `cid_mismatch@${CALL}`,
    ]);
  });
});

describe("entries", () => {
  const at = (seq: number) => lineOf(lines, seq);

  it("deleted", async () => {
    expect(await faultsAfter(lines.toSpliced(at(CALL), 1))).toEqual(
      expect.arrayContaining([`seq_mismatch@${VERDICT}`, `chain_broken@${VERDICT}`, "size_mismatch"]),
    );
  });

  it("deleted, with all numbers put right", async () => {
    expect(await faultsAfter(recounted(lines.toSpliced(at(CALL), 1)))).toEqual(
      expect.arrayContaining([`chain_broken@${CALL}`]),
    );
  });

  it("deleted where a session starts", async () => {
    const faults = await faultsAfter(recounted(lines.toSpliced(at(6), 1)));
    expect(faults).toContain("chain_broken@10");
  });

  it("inserted", async () => {
    const before = entryOf(lines[at(CALL)]);
    const forged = resealed({ ...before, parents: [before.cid], payload: { forged: true } });
    const changed = lines.toSpliced(at(CALL) + 1, 0, { kind: "entry", seq: VERDICT, entry: forged });
    expect(await faultsAfter(changed)).toEqual(
      expect.arrayContaining([`seq_mismatch@${VERDICT}`, `chain_broken@${VERDICT}`]),
    );
    expect(await faultsAfter(recounted(changed))).toEqual(
      expect.arrayContaining([`chain_broken@${VERDICT + 1}`, "checkpoint_misplaced"]),
    );
  });

  it("added at the end, in a session of their own", async () => {
    const forged = resealed({ ...entryOf(lines[at(CALL)]), entity_id: "session:forged", parents: [] });
    const changed = recounted(lines.toSpliced(-1, 0, { kind: "entry", seq: 0, entry: forged }));
    expect(await faultsAfter(changed)).toEqual(["entries_uncovered@19"]);
  });

  it("reordered", async () => {
    const [first, second] = [lines[at(CALL)]!, lines[at(VERDICT)]!];
    const changed = lines.with(at(CALL), second).with(at(VERDICT), first);
    expect(await faultsAfter(changed)).toEqual(
      expect.arrayContaining([`seq_mismatch@${VERDICT}`, `seq_mismatch@${CALL}`, `chain_broken@${VERDICT}`]),
    );
    expect(await faultsAfter(recounted(changed))).toEqual(
      expect.arrayContaining([`chain_broken@${CALL}`, `chain_broken@${VERDICT}`, "root_mismatch@4"]),
    );
  });

  it("reordered between sessions, where no chain breaks: the checkpoints show where", async () => {
    const changed = recounted(lines.with(at(6), lines[at(CALL)]!).with(at(CALL), lines[at(6)]!));
    const report = await verifyWhole(changed, pinned);
    expect(report.faults).toMatchObject([
      {
        code: "root_mismatch",
        seq: 4,
        message: "among the entries 4 to 10 some are not those that the log signed",
      },
    ]);
    expect(report.remarks).toContain("2 later checkpoints disagree too, which follows from the first");
  });

  it("duplicated", async () => {
    const changed = lines.toSpliced(at(CALL), 0, lines[at(CALL)]!);
    expect(await faultsAfter(changed)).toEqual(
      expect.arrayContaining([`seq_mismatch@${CALL}`, `chain_broken@${CALL}`]),
    );
    expect(await faultsAfter(recounted(changed))).toEqual(
      expect.arrayContaining([`chain_broken@${VERDICT}`]),
    );
  });

  it("forked: two that follow the same one", async () => {
    const fork = resealed({ ...entryOf(lines[at(VERDICT)]), payload: { verdict: "allow" } });
    const changed = recounted(lines.toSpliced(at(VERDICT) + 1, 0, { kind: "entry", seq: 0, entry: fork }));
    expect(await faultsAfter(changed)).toEqual(expect.arrayContaining([`chain_broken@${VERDICT + 1}`]));
  });

  it("with their payloads exchanged", async () => {
    const [first, second] = [entryOf(lines[at(CALL)]).payload, entryOf(lines[at(VERDICT)]).payload];
    const swapped = withEntry(
      withEntry(lines, CALL, () => ({ payload: second })),
      VERDICT,
      () => ({ payload: first }),
    );
    expect(await faultsAfter(swapped)).toEqual([`cid_mismatch@${CALL}`, `cid_mismatch@${VERDICT}`]);
    const forged = withEntry(withEntry(swapped, CALL, resealed), VERDICT, resealed);
    expect(await faultsAfter(forged)).toEqual(
      expect.arrayContaining([`chain_broken@${VERDICT}`, `chain_broken@${VERDICT + 1}`, "root_mismatch@4"]),
    );
  });

  it("rewritten with everything behind them: chains and ids fit, signatures and the log do not", async () => {
    const forged = new Map<string, string>();
    const changed = lines.map((line) => {
      if (line.kind !== "entry") return line;
      const entry = entryOf(line);
      const parents = entry.parents.map((cid) => forged.get(cid) ?? cid);
      const payload = line.seq === CALL ? { innocent: true } : entry.payload;
      const rewritten = resealed({ ...entry, parents, payload });
      forged.set(entry.cid, rewritten.cid);
      return { ...line, entry: rewritten };
    });
    const faults = await faultsAfter(changed);
    expect(faults).toContain("root_mismatch@4");
    expect(faults).toContain("signature_invalid@9");
    expect(faults.join()).not.toMatch(/cid_mismatch|chain_broken/);
  });
});

describe("what is signed", () => {
  it("the hash of the constitution changed", async () => {
    const change = ({ payload, ...entry }: Entry) => {
      const text = JSON.stringify(payload).replace("c0ffee", "c0ffef");
      return { ...entry, payload: JSON.parse(text) };
    };
    expect(await faultsAfter(withEntry(lines, CONSTITUTION, change))).toEqual(
      expect.arrayContaining([`cid_mismatch@${CONSTITUTION}`, `signature_invalid@${CONSTITUTION}`]),
    );
    const forged = withEntry(lines, CONSTITUTION, (entry) => resealed(change(entry)));
    expect(await faultsAfter(forged)).toEqual(
      expect.arrayContaining([`signature_invalid@${CONSTITUTION}`, "root_mismatch@0"]),
    );
  });

  it("signed again with a key that was never announced", async () => {
    const thief = new Signer("agent:writer", 7);
    const forged = withEntry(lines, FIRST_TURN, (entry) => signedBy(entry, thief));
    expect(await faultsAfter(forged)).toEqual(
      expect.arrayContaining([`key_unknown@${FIRST_TURN}`, "root_mismatch@4"]),
    );
  });

  it("signed again with another key under the announced one's name", async () => {
    const thief = new Signer("agent:writer", 7);
    const forged = withEntry(lines, FIRST_TURN, (entry) => {
      const { proof, ...signed } = signedBy(entry, thief);
      return resealed({ ...signed, proof: { ...proof, key_id: String(entry.proof?.key_id) } });
    });
    expect(await faultsAfter(forged)).toContain(`signature_invalid@${FIRST_TURN}`);
  });

  it("signed again with another holder's key", async () => {
    const forged = withEntry(lines, FIRST_TURN, (entry) => signedBy(entry, person));
    expect(await faultsAfter(forged)).toContain(`key_holder@${FIRST_TURN}`);
  });

  it("an envelope replaced, without being read", async () => {
    const change = () => ({ envelope: envelope(8) });
    expect(await faultsAfter(withEntry(lines, SEALED, change))).toEqual([`cid_mismatch@${SEALED}`]);
    const forged = withEntry(lines, SEALED, (entry) => resealed({ ...entry, ...change() }));
    expect(await faultsAfter(forged)).toEqual(
      expect.arrayContaining(["chain_broken@14", "root_mismatch@11"]),
    );
  });
});

function signedBy({ cid: _, ...content }: Entry, by: Signer): Entry {
  const unsigned = { ...content, proof: null };
  return resealed({ cid: "", ...content, proof: attestation(unsigned, by) });
}

/** The text with the lowest bit of its last character turned around. */
function flip(text: string): string {
  return text.slice(0, -1) + String.fromCharCode(text.charCodeAt(text.length - 1) ^ 1);
}
