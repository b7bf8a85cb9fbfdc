import { type KeyObject, sign } from "node:crypto";
import { assertPlainJson, canonicalJson, quickCanonicalJson } from "../canonical.ts";
import type { Cid, EntryContent, EntryQuality } from "../entry/entry.ts";
import { assertSize } from "../entry/entry-builder.ts";
import { recordedJson } from "../exact-number.ts";

/**
 * An entry on its way to the writer. Its parents are known only when its turn to be written has come, and an attestation
 * only after them.
 */
export interface PreparedEntry {
  readonly entity_id: string;
  readonly quality: EntryQuality;
  readonly actor: string;
  readonly timestamp: string;
  /** Its canonical form without parents, and without a proof where one has to be made. */
  readonly body: string;
  /** Who signs it, if anybody. */
  readonly attestation: AttestationOrder | undefined;
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

const NO_PARENTS = '"parents":[]';
const NO_PROOF = '"proof":null';

/** Prepares an entry whose texts have been checked; all of it has to be plain JSON. */
export function prepare(content: ParentlessContent): PreparedEntry {
  const { actor, entity_id, envelope, payload, proof, quality, source, tags, target, timestamp } = content;
  // In the order of their names, so that sorting finds nothing to do.
  const entry: EntryContent = {
    actor,
    entity_id,
    envelope,
    parents: [],
    payload: recordedJson(payload),
    proof,
    quality,
    source,
    tags,
    target,
    timestamp,
  };
  const quick = quickCanonicalJson(entry);
  if (quick === undefined) assertPlainJson(entry, "entry");
  const body = quick ?? canonicalJson(entry);
  assertSize(body, ROOM_TO_COME);
  return { entity_id, quality, actor, timestamp, body, attestation: undefined };
}

/** The same entry, to be signed when its parents are known. */
export function attested(entry: PreparedEntry, attestation: AttestationOrder): PreparedEntry {
  const { rules_checked, predicate_results } = attestation;
  assertSize(entry.body, ROOM_TO_COME, JSON.stringify([rules_checked, predicate_results]));
  return { ...entry, attestation };
}

/**
 * The canonical form of an entry once its parents are known. The places are found by names in quotes, which no text can
 * hold; none of the members before `parents`, or after `proof`, has one of these names inside.
 */
export function bodyWith(
  { body, attestation }: Pick<PreparedEntry, "body" | "attestation">,
  parents: readonly Cid[],
): string {
  const unsigned = body.replace(NO_PARENTS, `"parents":${JSON.stringify(parents)}`);
  if (!attestation) return unsigned;
  const proof = unsigned.lastIndexOf(NO_PROOF);
  const [before, after] = [unsigned.slice(0, proof), unsigned.slice(proof + NO_PROOF.length)];
  return `${before}"proof":${attest(attestation, unsigned)}${after}`;
}

function attest(order: AttestationOrder, unsigned: string): string {
  const { key_id, privateKey, rules_checked, predicate_results } = order;
  const signature = sign(null, Buffer.from(unsigned), privateKey).toString("base64");
  return canonicalJson({ key_id, predicate_results, rules_checked, signature, type: "attestation" });
}

/** As long as the longest parents and attestation get, but for the names of rules. */
const ROOM_TO_COME = "x".repeat(1_024);
