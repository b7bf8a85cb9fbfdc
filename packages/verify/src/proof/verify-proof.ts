import { fromBase64, sameBytes, toBase64 } from "../bytes.ts";
import { type Checkpoint, isSignedBy, type LogKey, readCheckpoint, readLogKey } from "../note.ts";
import { type Trust, trustOf, type VerifyOptions } from "../options.ts";
import { Findings, type Report, remarksOn, type SeenResult, VerifyError } from "../report.ts";
import { isConsistent } from "../tree.ts";
import { ProofAudit } from "./proof-audit.ts";
import { type ProofFile, readProofFile } from "./proof-file.ts";

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
