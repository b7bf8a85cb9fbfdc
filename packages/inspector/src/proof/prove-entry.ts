import { EntryProof, ledgerOperations } from "@reins/api";
import type { z } from "zod";
import { call, request } from "../api/call.ts";
import { keptCheckpoint } from "./kept-checkpoint.ts";
import { sizeOf } from "./note.ts";
import { type ProofStep, stepsOf } from "./proof-step.ts";
import { verify } from "./verify.ts";

/** What the page found out about an entry by itself. */
export interface Proved {
  readonly steps: readonly ProofStep[];
  readonly proof: z.infer<typeof EntryProof>;
  /** The proof file as it came, which anybody can check anywhere. */
  readonly file: string;
}

/** How often a proof and a checkpoint are asked for until they are of the same moment, while the ledger grows. */
const ATTEMPTS = 5;

/** Fetches the proof of an entry and checks every part of it here, trusting the server with nothing. */
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
  const file = await (await request(ledgerOperations.proveEntry, { params: { cid }, signal })).text();
  return { file, proof: EntryProof.parse(JSON.parse(file)) };
}

/** The parent that an entry names is an earlier entry of the same session, and is in the ledger itself. */
async function parentStep(
  parent: string,
  { entry, index }: Proved["proof"],
  signal: AbortSignal | undefined,
): Promise<ProofStep> {
  const title = "It follows the entry that it names";
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
    detail: said || `What the server gave for ${parent} is not an earlier entry of this session.`,
  };
}

/** The checkpoint that the proof leads to follows from the one that this browser kept. */
async function historyStep(
  cid: string,
  first: Proved["proof"],
  signal: AbortSignal | undefined,
): Promise<ProofStep> {
  const title = "It is the history that this browser saw";
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
        ? `The ${to} entries of the checkpoint begin with the ${kept.size} that were here before.`
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
