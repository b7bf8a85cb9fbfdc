import { fromBase64, HASH_LENGTH, leafHash, sameBytes, toBase64 } from "../bytes.ts";
import { type InspectedEntry, inspectEntry } from "../entry/entry.ts";
import { isAttestation } from "../entry/proof.ts";
import type { JsonObject, JsonValue } from "../json/parse.ts";
import {
  COUNT,
  fits,
  literal,
  mismatches,
  OBJECT,
  OBJECT_OR_NULL,
  type Rule,
  type Shape,
  TEXT,
} from "../json/shape.ts";
import { parseStrict } from "../json/strict.ts";
import {
  firstEntryComplaint,
  type Key,
  type KeyChange,
  keyChangeOf,
  missingAttestation,
  wrongHolder,
  wrongSignature,
} from "../keys.ts";
import {
  type Checkpoint,
  isSignedBy,
  type LogKey,
  readCheckpoint,
  readLogKey,
  type Trust,
  trustOf,
  type VerifyOptions,
} from "../note.ts";
import { referencesIn } from "../private-content.ts";
import {
  type Complaint,
  Findings,
  type Location,
  type Report,
  remarksOn,
  type SeenResult,
  VerifyError,
} from "../report.ts";
import { webCrypto } from "../signature.ts";
import { isConsistent, rootFromInclusion } from "../tree.ts";

/** Checks the entry of a proof file, and the announcement of the key that signed it. */
class ProofAudit {
  readonly #findings: Findings;
  #entries = 0;
  #signatures = 0;
  #withheld = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  get entries(): number {
    return this.#entries;
  }

  get signatures(): number {
    return this.#signatures;
  }

  get withheld(): number {
    return this.#withheld;
  }

  /** Checks everything a proof file shows beside its checkpoint. */
  async check(file: ProofFile, checkpoint: Checkpoint): Promise<void> {
    const proved = this.#checkIncluded(file, checkpoint);
    const { entry } = proved;
    if (entry === undefined) return;
    this.#withheld += new Set([...referencesIn(entry.payload)].map(({ digest }) => digest)).size;
    this.#complain(proved.place, missingAttestation(entry));
    const change = keyChangeOf(entry);
    if (file.index === 0) this.#complain(proved.place, firstEntryComplaint(entry, change));
    if (change !== undefined) this.#complain(proved.place, ...change.complaints);
    if (!isAttestation(entry.proof)) {
      if (file.key !== null) this.#unexpectedKey(proved.place);
      return;
    }
    const key = await this.#keyOf(file, change, checkpoint, proved.place);
    if (key === undefined) return;
    if (key.id !== entry.proof.key_id) {
      const message = "the proof of the key is of another key than the one that signed";
      this.#complain(proved.place, {
        code: "key_unknown",
        message,
        expected: entry.proof.key_id,
        found: key.id,
      });
      return;
    }
    await this.#checkSigned(proved, key);
    this.#findings.remark("a proof of one entry cannot show whether its key had been retired before");
  }

  /** The key that signed: announced by the entry itself when it is the first, proved beside it otherwise. */
  async #keyOf(
    file: ProofFile,
    change: KeyChange | undefined,
    checkpoint: Checkpoint,
    place: Location,
  ): Promise<Key | undefined> {
    if (file.index === 0 && change?.added !== undefined) {
      if (file.key !== null) this.#unexpectedKey(place);
      return change.added;
    }
    if (file.key === null) {
      const message = "the entry is signed, but the announcement of the key is not proved";
      this.#complain(place, { code: "key_proof_missing", message });
      return undefined;
    }
    const provedKey = readProvedKey(file.key, this.#findings);
    return provedKey && this.#announced(provedKey, file.index, checkpoint);
  }

  async #announced(provedKey: ProvedEntry, before: number, checkpoint: Checkpoint): Promise<Key | undefined> {
    const inspected = this.#checkIncluded(provedKey, checkpoint);
    const { entry, place } = inspected;
    const change = entry && keyChangeOf(entry);
    if (entry !== undefined) this.#complain(place, missingAttestation(entry), ...(change?.complaints ?? []));
    if (change?.added === undefined) {
      this.#complain(place, { code: "key_unknown", message: "the entry announces no key" });
    }
    if (entry !== undefined && change?.added !== undefined && provedKey.index === 0) {
      this.#complain(place, firstEntryComplaint(entry, change));
      await this.#checkSigned(inspected, change.added);
    }
    if (provedKey.index >= before) {
      this.#complain(place, {
        code: "key_unknown",
        message: "the key was announced after the entry that it signed",
        expected: `an entry before ${before}`,
        found: `${provedKey.index}`,
      });
    }
    return change?.added;
  }

  #checkIncluded(proved: ProvedEntry, { size, root }: Checkpoint): InspectedEntry {
    this.#entries += 1;
    const inspected = inspectEntry(proved.entry, { seq: proved.index }, this.#findings);
    const reached = rootFromInclusion(leafHash(inspected.leaf), proved.index, size, hashesOf(proved));
    if (reached === undefined || !sameBytes(reached, root)) {
      this.#complain(inspected.place, {
        code: "inclusion_invalid",
        message: `the entry is not proved to be number ${proved.index} of the ${size} that the log signed`,
        expected: `a path to the root ${toBase64(root)}`,
        found: reached === undefined ? `a path of ${proved.hashes.length} hashes` : toBase64(reached),
      });
    }
    return inspected;
  }

  async #checkSigned({ entry, content, place }: InspectedEntry, key: Key): Promise<void> {
    if (entry === undefined || content === undefined || !isAttestation(entry.proof)) return;
    this.#complain(place, wrongHolder(entry, key));
    const complaint = await wrongSignature(entry.proof, content, key, webCrypto);
    if (complaint === undefined) this.#signatures += 1;
    this.#complain(place, complaint);
  }

  #unexpectedKey(place: Location): void {
    const message = "a key is proved that the entry has no use for";
    this.#complain(place, { code: "key_proof_unexpected", message, expected: "null" });
  }

  #complain(place: Location, ...complaints: readonly (Complaint | undefined)[]): void {
    for (const one of complaints) if (one !== undefined) this.#findings.fault(place, one);
  }
}

/** Verifies a proof file, given as its text, its bytes or what was parsed from it, with no ledger at hand. */
export async function verifyProof(file: unknown, options: VerifyOptions = {}): Promise<Report> {
  const trust = trustOf(options);
  const findings = new Findings(options.maxFaults);
  const proof = readProofFile(file, findings);
  const key = proof && openKey(proof, trust, findings);
  const checkpoint = proof && (await openCheckpoint(proof, key, findings));
  const audit = new ProofAudit(findings);
  if (proof !== undefined && checkpoint !== undefined) await audit.check(proof, checkpoint);
  const report = {
    entries: audit.entries,
    checkpoints: checkpoint === undefined ? 0 : 1,
    signatures: audit.signatures,
    withheld: audit.withheld,
    logKey: key?.text ?? null,
    pinned: trust.key !== undefined,
    seen: await compareSeen(trust, checkpoint, key, findings),
  };
  for (const remark of remarksOn(report)) findings.remark(remark);
  const { clean, faults, unlisted, remarks } = findings;
  return {
    ok: clean,
    ...report,
    checkpoint: clean && proof !== undefined ? proof.checkpoint : null,
    faults,
    unlisted,
    remarks,
  };
}

function openKey({ log_key }: ProofFile, trust: Trust, findings: Findings): LogKey | undefined {
  const stated = readLogKey(log_key);
  if (stated === undefined) {
    const expected = "NAME+HASH+KEY of Ed25519";
    const message = "the log key is not a verifier key";
    findings.fault({}, { code: "log_key_malformed", message, expected, found: log_key });
  } else if (trust.key !== undefined && trust.key.text !== log_key) {
    const message = "the proof states another log key than the one you gave";
    findings.fault({}, { code: "log_key_mismatch", message, expected: trust.key.text, found: log_key });
  }
  return trust.key ?? stated;
}

async function openCheckpoint(
  { checkpoint: note }: ProofFile,
  key: LogKey | undefined,
  findings: Findings,
): Promise<Checkpoint | undefined> {
  const checkpoint = readCheckpoint(note);
  if (checkpoint === undefined) {
    const message = "the checkpoint is not a signed note of origin, size and root";
    findings.fault({}, { code: "checkpoint_malformed", message, found: note });
  } else if (key !== undefined && !(await isSignedBy(checkpoint, key))) {
    const message = "the checkpoint is not signed with the log's key";
    findings.fault({}, { code: "checkpoint_signature", message, expected: `a signature with ${key.text}` });
  }
  return checkpoint;
}

/** One proof shows no history: only a checkpoint of the very same size can be compared. */
async function compareSeen(
  { seen }: Trust,
  checkpoint: Checkpoint | undefined,
  key: LogKey | undefined,
  findings: Findings,
): Promise<SeenResult> {
  if (seen === undefined || checkpoint === undefined || key === undefined)
    return { checked: false, holds: false };
  const { size } = seen;
  if (!(await isSignedBy(seen, key))) {
    const message = "the checkpoint seen before is not signed with this log's key";
    findings.fault({}, { code: "seen_signature", message, expected: `a signature with ${key.text}` });
    return { checked: true, holds: false, size };
  }
  if (size !== checkpoint.size) {
    findings.remark("a proof of one entry cannot show that its ledger extends the one you saw");
    return { checked: false, holds: false, size };
  }
  if (sameBytes(seen.root, checkpoint.root)) return { checked: true, holds: true, size };
  findings.fault(
    {},
    {
      code: "seen_forked",
      message: `the ledger of the proof had other entries at size ${size} than the one you saw`,
      expected: toBase64(seen.root),
      found: toBase64(checkpoint.root),
    },
  );
  return { checked: true, holds: false, size };
}

/** Two checkpoints of one log and what is said to join them. */
export interface ConsistencyClaim {
  /** The log's verifier key, `NAME+HASH+KEY`. */
  readonly logKey: string;
  /** The checkpoint seen before, the whole signed note. */
  readonly earlier: string;
  /** The checkpoint of today. */
  readonly later: string;
  /** The RFC 6962 consistency proof, base64. */
  readonly hashes: readonly string[];
}

/** Verifies that a log only added entries between two checkpoints, with no entries at hand. */
export async function verifyConsistency(claim: ConsistencyClaim): Promise<Pick<Report, "ok" | "faults">> {
  const findings = new Findings();
  const [before, after] = [open(claim.logKey, claim.earlier), open(claim.logKey, claim.later)];
  for (const { checkpoint, key } of [before, after]) {
    if (await isSignedBy(checkpoint, key)) continue;
    findings.fault(
      {},
      {
        code: "checkpoint_signature",
        message: `the checkpoint of size ${checkpoint.size} is not signed with the log's key`,
        expected: `a signature with ${key.text}`,
      },
    );
  }
  const hashes = claim.hashes.map(fromBase64);
  const whole = hashes.filter((hash) => hash?.length === 32).filter((hash) => hash !== undefined);
  if (whole.length < hashes.length || !isConsistent(before.checkpoint, after.checkpoint, whole)) {
    const [earlier, later] = [before.checkpoint.size, after.checkpoint.size];
    findings.fault(
      {},
      {
        code: later < earlier ? "seen_shorter" : "seen_forked",
        message:
          later < earlier
            ? `the log had ${earlier} entries and now has ${later}: it was cut off or rolled back`
            : `the ${later} entries of today are not shown to start with the ${earlier} of then`,
      },
    );
  }
  return { ok: findings.clean, faults: findings.faults };
}

function open(logKey: string, seen: string): { readonly checkpoint: Checkpoint; readonly key: LogKey } {
  const { key, seen: checkpoint } = trustOf({ logKey, seen });
  if (key !== undefined && checkpoint !== undefined) return { checkpoint, key };
  throw new VerifyError("bad_option", "A log key and two checkpoints are needed.");
}

/** The format of proof files this verifier knows. */
export const PROOF_FORMAT = "reins-proof/1";

/** An entry and its inclusion proof. */
type ProvedEntry = { entry: JsonObject; index: number; hashes: string[] };

/** A file that proves an entry with no ledger at hand. */
type ProofFile = ProvedEntry & {
  format: string;
  log_key: string;
  checkpoint: string;
  key: JsonObject | null;
};

const HASHES: Rule = {
  expected: "an array of hashes, 32 bytes each in base64",
  holds: (value) => Array.isArray(value) && value.every(isHash),
};

const PROVED_ENTRY: Shape<ProvedEntry> = { entry: OBJECT, index: COUNT, hashes: HASHES };

const PROOF_FILE: Shape<ProofFile> = {
  format: literal(PROOF_FORMAT),
  log_key: TEXT,
  checkpoint: TEXT,
  ...PROVED_ENTRY,
  key: OBJECT_OR_NULL,
};

/** Reads a proof file from its text, its bytes or what was parsed from it. */
function readProofFile(file: unknown, findings: Findings): ProofFile | undefined {
  const value = parse(file, findings);
  if (value === undefined || fits(value, PROOF_FILE)) return value;
  complain(value, PROOF_FILE, "the file", findings);
  return undefined;
}

/** Reads the part of a proof file that proves the announcement of a key. */
function readProvedKey(value: JsonObject, findings: Findings): ProvedEntry | undefined {
  if (fits(value, PROVED_ENTRY)) return value;
  complain(value, PROVED_ENTRY, "the proof of the key", findings);
  return undefined;
}

/** The hashes of an inclusion proof as bytes. */
function hashesOf({ hashes }: ProvedEntry): Uint8Array[] {
  return hashes.map((hash) => fromBase64(hash) ?? new Uint8Array(HASH_LENGTH));
}

function parse(file: unknown, findings: Findings): JsonValue | undefined {
  try {
    if (typeof file === "string") return parseStrict(file);
    if (file instanceof Uint8Array)
      return parseStrict(new TextDecoder("utf-8", { fatal: true }).decode(file));
    // What was parsed elsewhere is taken for JSON by way of its text.
    return parseStrict(JSON.stringify(file) ?? "null");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    findings.fault({}, { code: "file_malformed", message: `the file is not JSON: ${reason}` });
    return undefined;
  }
}

function complain<Value extends JsonObject>(
  value: JsonValue,
  shape: Shape<Value>,
  what: string,
  findings: Findings,
): void {
  for (const one of mismatches(value, shape)) {
    findings.fault({}, { ...one, code: "file_malformed", message: `${what} ${one.message}` });
  }
}

function isHash(value: JsonValue): boolean {
  return typeof value === "string" && fromBase64(value)?.length === HASH_LENGTH;
}
