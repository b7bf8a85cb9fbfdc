import { toHex } from "../bytes/hex.ts";
import { blake3Stream } from "../hash/blake3.ts";
import type { Place } from "../report/fault.ts";
import type { PrivateContent } from "./private-content.ts";

/** Where private content lies beside a ledger. */
export interface Shelf {
  /** The salt and content with that digest, in pieces; nothing once it was erased. */
  open(digest: string): Promise<AsyncIterable<Uint8Array> | undefined>;
}

/** Looks for private content on a shelf and, when it is there, checks it. */
export async function checkShelf(
  shelf: Shelf,
  digest: string,
  place: Place,
  privateContent: PrivateContent,
): Promise<void> {
  const pieces = await shelf.open(digest);
  if (pieces === undefined) return;
  const hasher = blake3Stream();
  let length = 0;
  for await (const piece of pieces) {
    hasher.update(piece);
    length += piece.length;
  }
  privateContent.provideHashed(digest, toHex(hasher.finalize()), length, place);
}
