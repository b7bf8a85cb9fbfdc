import type { KeyObject } from "node:crypto";
import { canonicalJson, checkedCanonicalJson } from "../canonical.ts";
import type { EntryContent } from "../entry/entry.ts";
import { assertSize } from "../entry/entry-builder.ts";
import type { EntryQuality } from "../entry/quality.ts";

/**
 * An entry on its way to the writer. Its parents are known only when its turn to be written has come, and its proof
 * only after them, so its canonical form comes in three pieces that leave their places open.
 */
export interface PreparedEntry {
  readonly entity_id: string;
  readonly quality: EntryQuality;
  readonly actor: string;
  readonly timestamp: string;
  readonly beforeParents: string;
  readonly beforeProof: string;
  readonly afterProof: string;
  /** Who signs it, if anybody; otherwise `proof` is written as it is. */
  readonly attestation: AttestationOrder | undefined;
  readonly proof: string;
}

/** What the writer needs to sign an entry. */
export interface AttestationOrder {
  readonly key_id: string;
  readonly privateKey: KeyObject;
  readonly rules_checked: readonly string[];
  readonly predicate_results: readonly boolean[];
}

/** Everything of an entry but its parents. */
export type ParentlessContent = Omit<EntryContent, "parents">;

/** Prepares an entry whose content has been checked but for its payload, which has to be plain JSON. The members stand in the order of their names, as RFC 8785 has it. */
export function prepare(
  content: ParentlessContent,
  attestation: AttestationOrder | undefined,
): PreparedEntry {
  const { actor, entity_id, envelope, payload, proof, quality, source, tags, target, timestamp } = content;
  // A string's canonical form is what JSON.stringify writes.
  const text = JSON.stringify;
  const prepared: PreparedEntry = {
    entity_id,
    quality,
    actor,
    timestamp,
    beforeParents: `{"actor":${text(actor)},"entity_id":${text(entity_id)},"envelope":${canonicalJson(envelope)},"parents":`,
    beforeProof: `,"payload":${checkedCanonicalJson(payload)},"proof":`,
    afterProof: `,"quality":${text(quality)},"source":${text(source)},"tags":${text(tags)},"target":${text(target)},"timestamp":${text(timestamp)}}`,
    attestation,
    proof: canonicalJson(proof),
  };
  assertSize(prepared.beforeParents, prepared.beforeProof, prepared.proof, prepared.afterProof, ROOM_TO_COME);
  return prepared;
}

/** As long as the longest parents and attestation get, but for the names of rules. */
const ROOM_TO_COME = "x".repeat(1_024);
