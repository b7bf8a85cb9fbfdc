import { EntryProof, ledgerOperations } from "@reins/api";
import type { FaultCode } from "@reins/verify";
import type { z } from "zod";
import { call, http } from "../api/queries.ts";
import { keptCheckpoint } from "./compare.ts";
import { type VerifyReport, verify } from "./verify.ts";

/** The result of verifying an entry on this page. */
export interface Proved {
  readonly steps: readonly ProofStep[];
  readonly proof: z.infer<typeof EntryProof>;
  /** The proof file as received; it can be verified anywhere. */
  readonly file: string;
}

/** How often proof and checkpoint are fetched until they match, while the ledger grows. */
const ATTEMPTS = 5;

/** Fetches the proof of an entry and verifies every part of it here, without trusting the server. */
export async function proveEntry(cid: string, signal?: AbortSignal): Promise<Proved> {
  const kept = keptCheckpoint();
  const { file, proof } = await fetchProof(cid, signal);
  const report = await verify({ kind: "proof", file, logKey: kept?.logKey });
  const steps = stepsOf(cid, proof, report);
  const chain = await Promise.all(proof.entry.parents.map((parent) => parentStep(parent, proof, signal)));
  return { steps: [...steps, ...chain, await historyStep(cid, proof, signal)], proof, file };
}

async function fetchProof(
  cid: string,
  signal: AbortSignal | undefined,
): Promise<Pick<Proved, "file" | "proof">> {
  const file = await http.text(ledgerOperations.proveEntry, { params: { cid }, signal });
  return { file, proof: EntryProof.parse(JSON.parse(file)) };
}

/** Checks that the parent is an earlier entry of the same session and is itself in the ledger. */
async function parentStep(
  parent: string,
  { entry, index }: Proved["proof"],
  signal: AbortSignal | undefined,
): Promise<ProofStep> {
  const title = "Its parent precedes it";
  const { file, proof } = await fetchProof(parent, signal);
  const { ok, faults } = await verify({ kind: "proof", file, logKey: keptCheckpoint()?.logKey });
  const isBefore =
    proof.entry.cid === parent && proof.index < index && proof.entry.entity_id === entry.entity_id;
  if (ok && isBefore)
    return {
      title,
      state: "holds",
      detail: `Entry ${proof.index} of the same session is in the ledger, before this one.`,
    };
  const said = faults.map(({ message }) => message).join("; ");
  return {
    title,
    state: "fails",
    detail: said || `The server's response for ${parent} is not an earlier entry of this session.`,
  };
}

/** Checks that the proof's checkpoint is consistent with the one that this browser keeps. */
async function historyStep(
  cid: string,
  first: Proved["proof"],
  signal: AbortSignal | undefined,
): Promise<ProofStep> {
  const title = "It is consistent with this browser's checkpoint";
  const kept = keptCheckpoint();
  if (!kept) return { title, state: "open", detail: "This browser has not seen this ledger before." };
  let { checkpoint } = first;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { to, hashes } = await call(ledgerOperations.proveConsistency, {
      query: { from: kept.size },
      signal,
    });
    if (to === sizeOf(checkpoint)) {
      const claim = { logKey: kept.logKey, earlier: kept.note, later: checkpoint, hashes };
      const { ok, faults } = await verify({ kind: "consistency", claim });
      const detail = ok
        ? `The ${to} entries of the checkpoint extend the ${kept.size} that this browser verified.`
        : faults.map(({ message }) => message).join("; ");
      return { title, state: ok ? "holds" : "fails", detail };
    }
    checkpoint = (await fetchProof(cid, signal)).proof.checkpoint;
  }
  return {
    title,
    state: "open",
    detail: "The ledger grows too fast to compare the two just now. Try again.",
  };
}

/** One step of a proof: whether it holds, and the evidence. */
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

function stepsOf(cid: string, proof: z.infer<typeof EntryProof>, report: VerifyReport): ProofStep[] {
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
      "The entry matches its content id",
      isOther ? `The server returned the entry ${entry.cid}.` : saidOf((code) => !elsewhere.includes(code)),
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
          title: "It has no signature of its own",
          state: "open",
          detail: "Only turns, approvals, policy changes and kills are signed individually.",
        }
      : step(
          "It is signed by its actor",
          saidOf((code) => KEY.includes(code)),
          `The signature is of ${entry.actor}, whose key the ledger announced${proof.key ? ` in entry ${proof.key.index}` : ""}.`,
        ),
  ];
}

/** A node of the tree: the range of leaves below it, `to` excluded. */
export interface TreeNode {
  readonly from: number;
  readonly to: number;
}

/** One step up the tree: the computed node and its sibling, whose hash the proof contains. */
interface TreeStep {
  readonly node: TreeNode;
  readonly sibling: TreeNode & { readonly side: "left" | "right"; readonly hash: string };
}

/** The path from a leaf to the root of an RFC 6962 tree, with the hashes of an inclusion proof. */
export function treePath(index: number, size: number, hashes: readonly string[]): TreeStep[] {
  const steps: { node: TreeNode; sibling: TreeNode & { side: "left" | "right" } }[] = [];
  let node: TreeNode = { from: 0, to: size };
  while (node.to - node.from > 1) {
    const middle = node.from + largestPowerBelow(node.to - node.from);
    const [left, right] = [
      { from: node.from, to: middle },
      { from: middle, to: node.to },
    ];
    const isLeft = index < middle;
    steps.unshift({ node, sibling: isLeft ? { ...right, side: "right" } : { ...left, side: "left" } });
    node = isLeft ? left : right;
  }
  return steps.map(({ node, sibling }, place) => ({
    node,
    sibling: { ...sibling, hash: hashes[place] ?? "" },
  }));
}

function largestPowerBelow(count: number): number {
  return 2 ** (Math.ceil(Math.log2(count)) - 1);
}

/** The signed number of entries that a checkpoint covers. */
export function sizeOf(note: string): number {
  return Number(note.split("\n")[1]);
}

/** The signed root of a checkpoint, base64. */
export function rootOf(note: string): string {
  return note.split("\n")[2] ?? "";
}
