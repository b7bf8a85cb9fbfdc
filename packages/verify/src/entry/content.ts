import { blake3 } from "../hashes.ts";
import { canonicalJson } from "../json/canonical.ts";
import type { JsonObject } from "../json/parse.ts";
import type { Entry } from "./entry.ts";

/** The canonical texts of an entry. */
export interface Content {
  /** Everything but `cid`: what the content id is the digest of. */
  readonly body: string;
  /** The same with `proof` set to null: what an attestation signs. */
  attested(): string;
}

/**
 * The canonical texts of an entry.
 *
 * @throws PlainError when it is not plain JSON.
 */
export function contentOf(entry: Entry): Content {
  return {
    body: canonicalJson(withProof(entry, entry.proof)),
    attested: () => canonicalJson(withProof(entry, null)),
  };
}

/** The canonical form of everything but `cid` in what may not be an entry. */
export function bodyOf({ cid: _, ...content }: JsonObject): string {
  return canonicalJson(content);
}

/** The members but `cid`, in the order of the canonical form, so that it costs no sorting. */
function withProof(entry: Entry, proof: JsonObject | null): JsonObject {
  return {
    actor: entry.actor,
    entity_id: entry.entity_id,
    envelope: entry.envelope,
    parents: entry.parents,
    payload: entry.payload,
    proof,
    quality: entry.quality,
    source: entry.source,
    tags: entry.tags,
    target: entry.target,
    timestamp: entry.timestamp,
  };
}

/** The largest entry, in bytes of its canonical form. */
export const ENTRY_LIMIT = 1024 * 1024;

const encoder = new TextEncoder();

/** Reused from entry to entry: a digest is made without waiting in between. */
const buffer = new Uint8Array(ENTRY_LIMIT);

/** The digest of an entry, and whether the entry is no larger than it may be. */
interface EntryDigest {
  readonly digest: Uint8Array;
  readonly fits: boolean;
}

/** BLAKE3-256 of the canonical form of an entry without its content id. */
export function digestOf(body: string): EntryDigest {
  const { read, written } = encoder.encodeInto(body, buffer);
  if (read === body.length) return { digest: blake3(buffer.subarray(0, written)), fits: true };
  return { digest: blake3(encoder.encode(body)), fits: false };
}
