import { blake3 } from "../hash/blake3.ts";

/** The largest entry, in bytes of its canonical form. */
export const ENTRY_LIMIT = 1024 * 1024;

const encoder = new TextEncoder();

/** Reused from entry to entry: a digest is made without waiting in between. */
const buffer = new Uint8Array(ENTRY_LIMIT);

/** The digest of an entry, and whether the entry is no larger than it may be. */
export interface EntryDigest {
  readonly digest: Uint8Array;
  readonly fits: boolean;
}

/** BLAKE3-256 of the canonical form of an entry without its content id. */
export function digestOf(body: string): EntryDigest {
  const { read, written } = encoder.encodeInto(body, buffer);
  if (read === body.length) return { digest: blake3(buffer.subarray(0, written)), fits: true };
  return { digest: blake3(encoder.encode(body)), fits: false };
}
