import type { EntryProof } from "@reins/api";
import type { FaultCode } from "@reins/verify";
import type { z } from "zod";
import { rootOf, sizeOf } from "./note.ts";
import type { VerifyReport } from "./verify-job.ts";

/** One thing that has to hold, whether it does, and how that shows. */
export interface ProofStep {
  readonly title: string;
  readonly state: "holds" | "fails" | "open";
  readonly detail: string;
}

const TREE: readonly FaultCode[] = ["inclusion_invalid"];
const LOG: readonly FaultCode[] = [
  "log_key_malformed",
  "log_key_mismatch",
  "checkpoint_malformed",
  "checkpoint_signature",
];
const KEY: readonly FaultCode[] = [
  "attestation_missing",
  "signature_invalid",
  "key_unknown",
  "key_retired",
  "key_holder",
  "key_malformed",
  "key_not_by_system",
  "key_proof_missing",
  "key_proof_unexpected",
];

/** What a proof has to show, one by one, with what the checker found. */
export function stepsOf(cid: string, proof: z.infer<typeof EntryProof>, report: VerifyReport): ProofStep[] {
  const { entry, index, hashes, checkpoint, log_key } = proof;
  const isOther = entry.cid !== cid;
  const saidOf = (codes: (code: FaultCode) => boolean): string =>
    report.faults
      .filter(({ code }) => codes(code))
      .map(({ message }) => message)
      .join("; ");
  const step = (title: string, fault: string, detail: string): ProofStep =>
    fault === "" ? { title, state: "holds", detail } : { title, state: "fails", detail: fault };
  const elsewhere = [...TREE, ...LOG, ...KEY];
  return [
    step(
      "The entry is what its content id says",
      isOther ? `The server gave the entry ${entry.cid}.` : saidOf((code) => !elsewhere.includes(code)),
      `BLAKE3 of its canonical JSON is ${cid.slice(0, 16)}…`,
    ),
    step(
      "It is in the tree",
      saidOf((code) => TREE.includes(code)),
      `Leaf ${index} of ${sizeOf(checkpoint)} leads by ${hashes.length} hashes to the root ${rootOf(checkpoint).slice(0, 12)}…`,
    ),
    step(
      "The tree is signed",
      saidOf((code) => LOG.includes(code)),
      `The checkpoint is signed with ${log_key}.`,
    ),
    entry.proof === null
      ? {
          title: "Nobody signed it by itself",
          state: "open",
          detail: "Turns, approvals, policy changes and kills are signed one by one; this is none of them.",
        }
      : step(
          "It is signed by who acted",
          saidOf((code) => KEY.includes(code)),
          `The signature is of ${entry.actor}, whose key the ledger announced${proof.key ? ` in entry ${proof.key.index}` : ""}.`,
        ),
  ];
}
