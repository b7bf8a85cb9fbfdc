import { fromBase64 } from "../bytes.ts";
import { type Checkpoint, isSignedBy, type LogKey } from "../note.ts";
import { trustOf } from "../options.ts";
import { Findings, type Report } from "../report.ts";
import { isConsistent } from "../tree.ts";
import { VerifyError } from "../verify-error.ts";

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
