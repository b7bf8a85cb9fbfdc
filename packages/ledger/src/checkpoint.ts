import { createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";
import { LedgerError } from "./ledger-error.ts";

/** What a checkpoint says: which ledger, how many entries, and the root of their tree. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

const ED25519 = 0x01;
const DASH = "\u2014";

/** The bytes that identify a key in a signature line. */
function logKeyHash(name: string, publicKey: Uint8Array): Buffer {
  return hash(
    "sha256",
    Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), publicKey]),
    "buffer",
  ).subarray(0, 4);
}

/** A key in the form that is handed to those who verify. */
export function verifierKey(name: string, publicKey: Uint8Array): string {
  const key = Buffer.concat([Buffer.of(ED25519), publicKey]).toString("base64");
  return `${name}+${logKeyHash(name, publicKey).toString("hex")}+${key}`;
}

/** A checkpoint as a signed note. */
export function signCheckpoint(checkpoint: Checkpoint, privateKey: KeyObject): string {
  const text = noteText(checkpoint);
  const signature = sign(null, Buffer.from(text), privateKey);
  const keyHash = logKeyHash(checkpoint.origin, rawPublicKey(createPublicKey(privateKey)));
  return `${text}\n${DASH} ${checkpoint.origin} ${Buffer.concat([keyHash, signature]).toString("base64")}\n`;
}

/** What a note says; its signature is for {@link openCheckpoint} to check. */
export function readCheckpoint(note: string): Checkpoint {
  const [origin, size, root] = note.split("\n");
  if (!origin || !size || !/^(0|[1-9]\d*)$/.test(size) || !root)
    throw new LedgerError("invalid", "this is no checkpoint");
  return { origin, size: Number(size), root: Buffer.from(root, "base64") };
}

/** What a note says, once its signature by that key was checked. */
export function openCheckpoint(note: string, logKey: string): Checkpoint {
  const [name, , key] = logKey.split("+", 2).concat(logKey.split("+").slice(2).join("+"));
  const publicKey = Buffer.from(key ?? "", "base64").subarray(1);
  const end = note.indexOf("\n\n") + 1;
  const text = note.slice(0, end);
  const line = note
    .slice(end + 1)
    .split("\n")
    .find((candidate) => candidate.startsWith(`${DASH} ${name} `));
  const bytes = Buffer.from(line?.split(" ")[2] ?? "", "base64");
  const ours = bytes.subarray(0, 4).equals(logKeyHash(name ?? "", publicKey));
  if (!ours || !verify(null, Buffer.from(text), publicKeyFrom(publicKey), bytes.subarray(4))) {
    throw new LedgerError("corrupt", "the checkpoint is not signed by the ledger's key");
  }
  return readCheckpoint(note);
}

function noteText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${Buffer.from(root).toString("base64")}\n`;
}

function rawPublicKey(key: KeyObject): Buffer {
  const { x } = key.export({ format: "jwk" });
  return Buffer.from(x ?? "", "base64url");
}

function publicKeyFrom(raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw).toString("base64url");
  return createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x } });
}
