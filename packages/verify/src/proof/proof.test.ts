import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attestation } from "../../test/ledger-maker.ts";
import { consistencyProof } from "../../test/merkle.ts";
import { proofOf } from "../../test/proof-maker.ts";
import { faultsOf } from "../../test/read.ts";
import { makeSample } from "../../test/sample.ts";
import { Signer } from "../../test/signer.ts";
import type { JsonObject } from "../json/parse.ts";
import { verifyConsistency, verifyProof } from "./verify-proof.ts";

const { ledger, seen } = makeSample();
const trust = { logKey: ledger.logKey };
const [SYSTEM_KEY, AGENT_KEY, PERSON_KEY, TURN, VERDICT, APPROVAL, WITHHELD] = [0, 1, 2, 5, 8, 9, 11];

describe("a proof file", () => {
  it.each([
    ["an entry without a signature", proofOf(ledger, VERDICT), 1, 0],
    ["a signed entry", proofOf(ledger, TURN, AGENT_KEY), 2, 1],
    ["the announcement of a key", proofOf(ledger, PERSON_KEY, SYSTEM_KEY), 2, 2],
    ["the first entry", proofOf(ledger, SYSTEM_KEY), 1, 1],
    ["the last entry", proofOf(ledger, 18, PERSON_KEY), 2, 1],
  ])("proves %s", async (_, file, entries, signatures) => {
    const report = await verifyProof(file, trust);
    expect(report).toMatchObject({ ok: true, entries, signatures, checkpoints: 1, pinned: true, faults: [] });
    expect(report.checkpoint).toBe(ledger.checkpoints.at(-1)!.note);
  });

  it("may be given as text or as bytes", async () => {
    const text = JSON.stringify(proofOf(ledger, TURN, AGENT_KEY), undefined, 2);
    expect(await verifyProof(text)).toMatchObject({ ok: true, pinned: false });
    expect(await verifyProof(Buffer.from(text), trust)).toMatchObject({ ok: true });
  });

  it("says what it cannot show", async () => {
    const signed = await verifyProof(proofOf(ledger, TURN, AGENT_KEY), { ...trust, seen });
    expect(signed.remarks).toContain(
      "a proof of one entry cannot show whether its key had been retired before",
    );
    expect(signed.remarks).toContain(
      "a proof of one entry cannot show that its ledger extends the one you saw",
    );
    expect(await verifyProof(proofOf(ledger, WITHHELD), trust)).toMatchObject({ ok: true, withheld: 1 });
  });

  it("is compared with a checkpoint of the same size", async () => {
    const file = proofOf(ledger, VERDICT);
    const same = await verifyProof(file, { ...trust, seen: ledger.checkpoints.at(-1)!.note });
    expect(same).toMatchObject({ ok: true, seen: { checked: true, holds: true, size: 19 } });
    const forked = ledger.log.checkpoint("reins.test/ledger", 19, Buffer.alloc(32));
    expect(faultsOf(await verifyProof(file, { ...trust, seen: forked }))).toEqual(["seen_forked"]);
    const foreign = new Signer("thief").checkpoint("reins.test/ledger", 19, Buffer.alloc(32));
    expect(faultsOf(await verifyProof(file, { ...trust, seen: foreign }))).toEqual(["seen_signature"]);
  });
});

describe("a proof file that proves nothing", () => {
  const signed = proofOf(ledger, TURN, AGENT_KEY);

  it.each<[string, unknown, string[]]>([
    ["is not JSON", "{", ["file_malformed"]],
    ["has a member twice", '{"format":1,"format":2}', ["file_malformed"]],
    ["is no object", 3, ["file_malformed"]],
    ["goes in circles", circle(), ["file_malformed"]],
    ["has another format", { ...signed, format: "reins-proof/2" }, ["file_malformed"]],
    ["has more in it", { ...signed, more: 1 }, ["file_malformed"]],
    ["has a hash of another length", { ...signed, hashes: ["AAAA"] }, ["file_malformed"]],
    ["has a malformed key", { ...signed, key: {} }, ["file_malformed", "file_malformed", "file_malformed"]],
    ["states no log key", { ...signed, log_key: "none" }, ["log_key_malformed"]],
    [
      "states another log key",
      { ...signed, log_key: new Signer("thief").verifierKey("x") },
      ["log_key_mismatch"],
    ],
    ["has no checkpoint", { ...signed, checkpoint: "none" }, ["checkpoint_malformed"]],
    [
      "has a checkpoint of another ledger",
      { ...signed, checkpoint: new Signer("thief").checkpoint("x", 19, Buffer.alloc(32)) },
      ["checkpoint_signature", "inclusion_invalid@5", "inclusion_invalid@1"],
    ],
    [
      "has an older checkpoint",
      { ...signed, checkpoint: seen },
      ["inclusion_invalid@5", "inclusion_invalid@1"],
    ],
    ["has another place", { ...signed, index: 6 }, ["inclusion_invalid@6"]],
    ["has a place outside the tree", { ...signed, index: 19 }, ["inclusion_invalid@19"]],
    ["has a hash less", { ...signed, hashes: Object(signed.hashes).slice(1) }, ["inclusion_invalid@5"]],
    ["has no key", { ...signed, key: null }, ["key_proof_missing@5"]],
    ["has another key", proofOf(ledger, TURN, PERSON_KEY), ["key_unknown@5"]],
    ["has an entry for a key that announces none", proofOf(ledger, APPROVAL, VERDICT), ["key_unknown@8"]],
    ["has a key announced later", proofOf(ledger, TURN, 15), ["key_unknown@15", "key_unknown@5"]],
    ["has a key for nothing", proofOf(ledger, VERDICT, AGENT_KEY), ["key_proof_unexpected@8"]],
    ["has a key beside the first entry", proofOf(ledger, SYSTEM_KEY, SYSTEM_KEY), ["key_proof_unexpected@0"]],
  ])("%s", async (_, file, faults) => {
    const report = await verifyProof(file, trust);
    expect(report).toMatchObject({ ok: false, checkpoint: null });
    expect(faultsOf(report)).toEqual(faults);
  });

  it("has an entry that was changed, or signed by another key", async () => {
    const { cid, ...content } = ledger.entries[TURN]!;
    const changed = { ...signed, entry: { cid, ...content, payload: {} } };
    expect(faultsOf(await verifyProof(changed, trust))).toEqual(["cid_mismatch@5", "signature_invalid@5"]);
    const stolen = { ...content, proof: attestation({ ...content, proof: null }, new Signer("thief")) };
    const faults = faultsOf(await verifyProof({ ...signed, entry: { cid, ...stolen } }, trust));
    expect(faults).toEqual(["cid_mismatch@5", "key_unknown@5"]);
  });

  it("has any one character of its text changed", async () => {
    const text = JSON.stringify(signed);
    const mutation = fc.tuple(fc.nat(text.length - 1), fc.integer({ min: 1, max: 127 }));
    await fc.assert(
      fc.asyncProperty(mutation, async ([place, change]) => {
        const character = String.fromCharCode(text.charCodeAt(place) ^ change);
        const mutated = text.slice(0, place) + character + text.slice(place + 1);
        const { ok } = await verifyProof(mutated, trust);
        if (ok) expect(JSON.parse(mutated)).toEqual(signed);
      }),
    );
  });
});

describe("a consistency proof", () => {
  const later = ledger.checkpoints.at(-1)!.note;
  const hashes = consistencyProof(11, ledger.leaves).map((hash) => hash.toString("base64"));
  const claim = { ...trust, earlier: seen, later, hashes };

  it("joins two checkpoints", async () => {
    expect(await verifyConsistency(claim)).toEqual({ ok: true, faults: [] });
    expect(await verifyConsistency({ ...claim, later: seen, hashes: [] })).toEqual({ ok: true, faults: [] });
  });

  it.each([
    ["a hash too few", { hashes: hashes.slice(1) }, "seen_forked"],
    ["a hash that is none", { hashes: hashes.with(0, "AAAA") }, "seen_forked"],
    ["the later one first", { earlier: later, later: seen }, "seen_shorter"],
    [
      "one signed by another key",
      { later: new Signer("thief").checkpoint("x", 19, Buffer.alloc(32)) },
      "checkpoint_signature",
    ],
  ])("does not, with %s", async (_, change, code) => {
    const { ok, faults } = await verifyConsistency({ ...claim, ...change });
    expect(ok).toBe(false);
    expect(faults[0]?.code).toBe(code);
  });
});

function circle(): JsonObject {
  const file: JsonObject = {};
  file.entry = file;
  return file;
}
