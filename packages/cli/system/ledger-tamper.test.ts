import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canonicalJson, type LedgerEntry, readCheckpoint, verifierKey } from "@reins/ledger";
import { type Report, type VerifyOptions, verifyExport } from "@reins/verify";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { type ExportMutation, exportMutation } from "./support/export-mutation.ts";
import { type EntryRecord, ExportRecords, nudged, renamed } from "./support/export-records.ts";
import { makeSampleLedger, makeSampleLedgerOfNodes, type SampleLedger } from "./support/sample-ledger.ts";

let server: PostgresServer;

/** How a ledger is made; with a folder of keys those of one kind have the same name and key. */
const LEDGERS: readonly (readonly [string, (keys?: string) => Promise<SampleLedger>])[] = [
  ["one server", makeSampleLedger],
  ...(postgresFolder === undefined
    ? []
    : [["three nodes", (keys?: string) => makeSampleLedgerOfNodes(server.address(), keys)] as const]),
];

beforeAll(async () => {
  if (postgresFolder !== undefined) server = await PostgresServer.start();
});
afterAll(() => server?.stop());

/** The faults of a report at an entry, by code. */
function faultsAt({ faults }: Report, seq: number): string[] {
  return faults.filter((fault) => fault.seq === seq).map(({ code }) => code);
}

const isQuality = (quality: LedgerEntry["quality"]) => (entry: LedgerEntry) => entry.quality === quality;
const FIELDS = [
  "cid",
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
] as const;
const QUALITIES = [
  "turn",
  "approval",
  "policy_verdict",
  "tool_result",
  "mailbox_inject",
  "policy_change",
] as const;

describe.each(LEDGERS)("the ledger of %s:", (_, make) => {
  let sample: SampleLedger;
  let tampered: ExportRecords;

  beforeAll(async () => {
    sample = await make();
  });

  /** The report on what a test makes of the sample. */
  async function reportOn(
    tamper: (records: ExportRecords) => void,
    options?: VerifyOptions,
  ): Promise<Report> {
    tampered = new ExportRecords(sample.lines);
    tamper(tampered);
    return verifyExport(tampered.lines(), options);
  }

  describe("a real export", () => {
    it("holds, and says what it was not held against", async () => {
      const report = await reportOn(() => {});
      expect(report).toMatchObject({ ok: true, faults: [], withheld: 0, pinned: false });
      expect(report.entries).toBe(tampered.entries.length);
      expect(report.checkpoints).toBeGreaterThan(3);
      expect(report.remarks).toContainEqual(expect.stringContaining("rolled-back log cannot be ruled out"));
    });

    it("holds with the key and an earlier checkpoint at hand", async () => {
      const report = await reportOn(() => {}, { logKey: sample.logKey, seen: sample.earlier });
      expect(report).toMatchObject({ ok: true, pinned: true, seen: { checked: true, holds: true } });
    });
  });

  describe("one bit of a field", () => {
    const cases = QUALITIES.flatMap((quality) => FIELDS.map((field) => [quality, field] as const));

    it.each(cases)("of a %s, in %s, is caught at the entry", async (quality, field) => {
      let seq = -1;
      const report = await reportOn((records) => {
        const record = records.find((entry) => entry.quality === quality && entry.parents.length > 0);
        record.entry = Object.assign({}, record.entry, { [field]: nudged(record.entry[field]) });
        seq = record.seq;
      });
      expect(report.ok).toBe(false);
      expect(faultsAt(report, seq)).not.toEqual([]);
    });
  });

  describe("an entry", () => {
    /** An entry in the middle of a chain, unsigned, so that it can be forged by computing a content id. */
    const middle = (records: ExportRecords): EntryRecord => records.find(isQuality("policy_verdict"));

    it("that is missing leaves a gap", async () => {
      let seq = -1;
      const report = await reportOn((records) => {
        const record = middle(records);
        seq = record.seq;
        records.replace(record);
      });
      expect(faultsAt(report, seq + 1)).toContain("seq_mismatch");
    });

    it("that is missing is missed by its follower, though all were numbered anew", async () => {
      let seq = -1;
      const report = await reportOn((records) => {
        const record = middle(records);
        const follower = records.followerOf(record);
        records.replace(record);
        records.renumber();
        seq = follower.seq;
      });
      expect(faultsAt(report, seq)).toContain("chain_broken");
      expect(report.faults.map(({ code }) => code)).toContain("checkpoint_misplaced");
    });

    it("that was put in is caught itself, or by its follower when it was made to fit", async () => {
      for (const fits of [false, true]) {
        let seq = -1;
        const report = await reportOn((records) => {
          const record = middle(records);
          const follower = records.followerOf(record);
          const parents = fits ? [record.entry.cid] : record.entry.parents;
          const forged: EntryRecord = {
            kind: "entry",
            seq: record.seq,
            entry: renamed(record.entry, { parents, payload: { verdict: "allowed" } }),
          };
          records.replace(record, record, forged);
          records.renumber();
          seq = fits ? follower.seq : forged.seq;
        });
        expect(faultsAt(report, seq)).toContain("chain_broken");
      }
    });

    it("that changed places is caught, though all were numbered anew", async () => {
      for (const anew of [false, true]) {
        let seq = -1;
        const report = await reportOn((records) => {
          const record = middle(records);
          const follower = records.followerOf(record);
          const [at, other] = [records.records.indexOf(record), records.records.indexOf(follower)];
          records.records[at] = follower;
          records.records[other] = record;
          seq = follower.seq;
          if (anew) records.renumber();
          if (anew) seq = follower.seq;
        });
        expect(faultsAt(report, seq)).toContain(anew ? "chain_broken" : "seq_mismatch");
      }
    });

    it("that is there twice is caught, though all were numbered anew", async () => {
      for (const anew of [false, true]) {
        let seq = -1;
        const report = await reportOn((records) => {
          const record = middle(records);
          records.replace(record, record, { ...record });
          seq = record.seq;
          if (anew) records.renumber();
        });
        expect(faultsAt(report, anew ? seq + 1 : seq)).toContain(anew ? "chain_broken" : "seq_mismatch");
      }
    });

    it("that begins a fork is caught", async () => {
      let seq = -1;
      const report = await reportOn((records) => {
        const record = middle(records);
        const parent = records.find(({ cid }) => record.entry.parents.includes(cid));
        record.entry = renamed(record.entry, { parents: parent.entry.parents });
        seq = record.seq;
      });
      expect(faultsAt(report, seq)).toContain("chain_broken");
    });

    it("that swapped payloads with another is caught, and so is the other", async () => {
      const seqs: number[] = [];
      const report = await reportOn((records) => {
        const [one, two] = records.entries.filter(({ entry }) => entry.quality === "tool_call");
        const [first, second] = [one!.entry, two!.entry];
        one!.entry = { ...first, payload: second.payload };
        two!.entry = { ...second, payload: first.payload };
        seqs.push(one!.seq, two!.seq);
      });
      for (const seq of seqs) expect(faultsAt(report, seq)).toContain("cid_mismatch");
    });

    it("that swapped payloads with another, each under a new content id, is caught by their followers", async () => {
      const seqs: number[] = [];
      const report = await reportOn((records) => {
        const [one, two] = records.entries.filter(({ entry }) => entry.quality === "tool_call");
        seqs.push(records.followerOf(one!).seq, records.followerOf(two!).seq);
        const [first, second] = [one!.entry, two!.entry];
        one!.entry = renamed(first, { payload: second.payload });
        two!.entry = renamed(second, { payload: first.payload });
      });
      for (const seq of seqs) expect(faultsAt(report, seq)).toContain("chain_broken");
    });

    it("whose constitution hash was changed is caught, also under a new content id", async () => {
      for (const anew of [false, true]) {
        let seq = -1;
        const report = await reportOn((records) => {
          const record = middle(records);
          seq = anew ? records.followerOf(record).seq : record.seq;
          const payload = Object.assign({}, record.entry.payload, { constitution_hash: "d0".repeat(32) });
          record.entry = anew ? renamed(record.entry, { payload }) : { ...record.entry, payload };
        });
        expect(faultsAt(report, seq)).toContain(anew ? "chain_broken" : "cid_mismatch");
      }
    });

    it("that was put into an envelope is caught, also under a new content id", async () => {
      const envelope = { audience_label: "board", encrypted_key: "v1.k", ciphertext: "c" };
      for (const anew of [false, true]) {
        let seq = -1;
        const report = await reportOn((records) => {
          const one = records.find(({ quality }) => quality === "mailbox_inject");
          seq = anew ? records.followerOf(one).seq : one.seq;
          one.entry = anew ? renamed(one.entry, { envelope }) : { ...one.entry, envelope };
        });
        expect(faultsAt(report, seq)).toContain(anew ? "chain_broken" : "cid_mismatch");
      }
    });

    it("whose private content was exchanged is named", async () => {
      let seq = -1;
      const report = await reportOn((records) => {
        const artifact = records.records.find((record) => record.kind === "artifact")!;
        const bytes = Buffer.from(artifact.bytes, "base64");
        bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
        artifact.bytes = bytes.toString("base64");
        seq = records.find(({ payload }) => JSON.stringify(payload).includes(artifact.digest)).seq;
      });
      expect(faultsAt(report, seq)).toEqual(["artifact_mismatch"]);
    });
  });

  describe("a signature", () => {
    /** A turn signed anew, with a key of the forger's, under the content id that it then has. */
    async function resigned(key_id: (records: ExportRecords) => string) {
      let seq = -1;
      const report = await reportOn((records) => {
        const record = records.find(isQuality("turn"));
        const { cid: _, ...content } = { ...record.entry, proof: null };
        const { privateKey } = generateKeyPairSync("ed25519");
        const signature = sign(null, Buffer.from(canonicalJson(content)), privateKey).toString("base64");
        const proof = record.entry.proof;
        if (proof?.type !== "attestation") throw new Error("a turn is signed");
        record.entry = renamed(record.entry, { proof: { ...proof, key_id: key_id(records), signature } });
        seq = record.seq;
      });
      return faultsAt(report, seq);
    }

    it("detects an unannounced key", async () => {
      expect(await resigned(() => "0123456789abcdef")).toContain("key_unknown");
    });

    it("said to be with the holder's key is caught", async () => {
      const ownKey = (records: ExportRecords) => {
        const { proof } = records.find(isQuality("turn")).entry;
        return proof?.type === "attestation" ? proof.key_id : "";
      };
      expect(await resigned(ownKey)).toContain("signature_invalid");
    });

    it("detects another holder's key", async () => {
      const systemKey = (records: ExportRecords) => {
        const { proof } = records.find(isQuality("policy_change")).entry;
        return proof?.type === "attestation" ? proof.key_id : "";
      };
      expect(await resigned(systemKey)).toContain("key_holder");
    });

    it("that was taken away is caught", async () => {
      let seq = -1;
      const report = await reportOn((records) => {
        const record = records.find(isQuality("approval"));
        record.entry = renamed(record.entry, { proof: null });
        seq = record.seq;
      });
      expect(faultsAt(report, seq)).toContain("attestation_missing");
    });
  });

  describe("a checkpoint", () => {
    /** Signs every checkpoint anew. */
    function signAnew(records: ExportRecords, privateKey: KeyObject, keyHash: Buffer): void {
      for (const record of records.records) {
        if (record.kind !== "checkpoint") continue;
        const text = record.note.slice(0, record.note.indexOf("\n\n") + 1);
        const { origin } = readCheckpoint(record.note);
        const signature = Buffer.concat([keyHash, sign(null, Buffer.from(text), privateKey)]);
        record.note = `${text}\n\u2014 ${origin} ${signature.toString("base64")}\n`;
      }
    }

    /** Replaces the log's key by one of the forger's, everywhere. */
    function exchangeKey(records: ExportRecords): void {
      const { publicKey, privateKey } = generateKeyPairSync("ed25519");
      const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
      const logKey = verifierKey("reins/sample", raw);
      signAnew(records, privateKey, Buffer.from(logKey.split("+")[1] ?? "", "hex"));
      for (const record of records.records) if (record.kind === "header") record.log_key = logKey;
    }

    it("that was rewritten is caught", async () => {
      let line = -1;
      const report = await reportOn((records) => {
        const at = records.records.findIndex(({ kind }) => kind === "checkpoint");
        const record = records.records[at];
        if (record?.kind !== "checkpoint") throw new Error("the sample has checkpoints");
        const [origin, size, root = "", ...rest] = record.note.split("\n");
        record.note = [origin, size, Buffer.from(root, "base64").reverse().toString("base64"), ...rest].join(
          "\n",
        );
        line = at + 1;
      });
      const codes = report.faults.filter((fault) => fault.line === line).map(({ code }) => code);
      expect(codes).toEqual(expect.arrayContaining(["root_mismatch", "checkpoint_signature"]));
    });

    it("signed with another key is caught", async () => {
      const { privateKey } = generateKeyPairSync("ed25519");
      const report = await reportOn((records) => signAnew(records, privateKey, Buffer.alloc(4)));
      expect(report.faults.map(({ code }) => code)).toContain("checkpoint_signature");
    });

    it("of a ledger whose key was exchanged is caught with the key, or an earlier checkpoint, at hand", async () => {
      expect((await reportOn(exchangeKey)).ok).toBe(true);
      const pinned = await reportOn(exchangeKey, { logKey: sample.logKey });
      expect(pinned.faults.map(({ code }) => code)).toContain("log_key_mismatch");
      const seen = await reportOn(exchangeKey, { seen: sample.earlier });
      expect(seen.faults.map(({ code }) => code)).toContain("seen_signature");
    });
  });

  describe("with an earlier checkpoint at hand", () => {
    /** Cuts the ledger off behind its first checkpoint, so that what is left is flawless. */
    function rollBack(records: ExportRecords): void {
      const at = records.records.findIndex(({ kind }) => kind === "checkpoint");
      const end = records.records.at(-1)!;
      records.records = [...records.records.slice(0, at + 1), end];
      records.renumber();
    }

    it("a ledger that was cut off is caught, and where it ends now", async () => {
      const alone = await reportOn(rollBack);
      expect(alone.ok).toBe(true);
      expect(alone.remarks).toContainEqual(expect.stringContaining("cannot be ruled out"));
      const report = await reportOn(rollBack, { seen: sample.earlier });
      expect(report.faults).toEqual([
        expect.objectContaining({ code: "seen_shorter", seq: tampered.entries.length }),
      ]);
    });

    it("a ledger that its own operator, who has all the keys, wrote anew is caught", async () => {
      const keys = await mkdtemp(join(tmpdir(), "reins-keys-"));
      onTestFinished(() => rm(keys, { recursive: true }));
      const [first, second] = [await make(keys), await make(keys)];
      const anew = new ExportRecords(second.lines);
      expect((await verifyExport(anew.lines(), { logKey: first.logKey })).ok).toBe(true);
      const report = await verifyExport(anew.lines(), { logKey: first.logKey, seen: first.earlier });
      expect(report.faults).toEqual([expect.objectContaining({ code: "seen_forked" })]);
    });
  });

  describe("any single mutation", () => {
    it("of an export is caught", async () => {
      const { lines } = sample;
      const before = new ExportRecords(lines);
      const property = fc.asyncProperty(exportMutation(lines), async (mutation: ExportMutation) => {
        fc.pre(contentOf(mutation.bytes) !== contentOf(Buffer.from(lines.join(""))));
        const report = await verifyExport(inOnePiece(mutation.bytes));
        // Private content may be withheld and checkpoints may be left out, as long as one covers every entry.
        const omitted = mutation.deleted;
        if (omitted === "artifact") expect(report.withheld).toBe(1);
        else if (omitted === "checkpoint" && report.ok)
          expect(report.checkpoints).toBe(checkpointsIn(before) - 1);
        else expect(report.ok, mutation.name).toBe(false);
      });
      await fc.assert(property, { numRuns: 250 });
    });
  });
});

function checkpointsIn({ records }: ExportRecords): number {
  return records.filter(({ kind }) => kind === "checkpoint").length;
}

/** What an export says, however it is written; of lines that are no JSON their text. White space at its end says nothing. */
function contentOf(bytes: Buffer): string {
  const lines = bytes
    .toString("latin1")
    .replace(/[\n\r\t ]+$/, "")
    .split("\n");
  return lines.map((line) => sameContent(Buffer.from(line, "latin1").toString())).join("\n");
}

function sameContent(line: string): string {
  try {
    return canonicalJson(JSON.parse(line));
  } catch {
    return line;
  }
}

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
