import { sha256 } from "@noble/hashes/sha2.js";
import { fromBase64 } from "../bytes/base64.ts";
import { type Bytes, concat, utf8 } from "../bytes/bytes.ts";
import { toHex } from "../bytes/hex.ts";

/** A C2SP verifier key, `NAME+HASH+KEY`, taken apart. */
export interface LogKey {
  /** As it was written. */
  readonly text: string;
  /** Names the key, and so the ledger: the origin of its checkpoints. */
  readonly name: string;
  /** The four bytes, in hexadecimal, by which a signature line refers to the key. */
  readonly hash: string;
  readonly publicKey: Bytes;
}

const ED25519 = 0x01;
const FORM = /^(?<name>[^\s+]+)\+(?<hash>[0-9a-f]{8})\+(?<key>[A-Za-z0-9+/=]+)$/u;

/** Reads a verifier key; nothing when it is not one, is not of Ed25519, or its hash does not belong to it. */
export function readLogKey(text: string): LogKey | undefined {
  const { name, hash, key } = FORM.exec(text)?.groups ?? {};
  const bytes = fromBase64(key ?? "");
  if (name === undefined || hash === undefined || bytes?.length !== 33 || bytes[0] !== ED25519)
    return undefined;
  if (toHex(sha256(concat(utf8(`${name}\n`), bytes)).subarray(0, 4)) !== hash) return undefined;
  return { text, name, hash, publicKey: bytes.slice(1) };
}
