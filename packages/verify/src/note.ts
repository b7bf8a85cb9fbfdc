import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, concat, fromBase64, HASH_LENGTH, toHex, utf8 } from "./bytes.ts";
import { VerifyError } from "./report.ts";
import { webCrypto } from "./signature.ts";
import type { TreeHead } from "./tree.ts";

/** A C2SP signed note with its one signature. */
interface SignedNote {
  /** What is signed, with the newline at its end. */
  readonly text: string;
  /** Whose key is said to have signed. */
  readonly name: string;
  /** The four bytes that identify that key, in hexadecimal. */
  readonly keyHash: string;
  readonly signature: Bytes;
}

const NOTE_FORM = /^(?<text>(?:[^\n]*\n)+)\n\u2014 (?<name>[^\s+]+) (?<blob>[A-Za-z0-9+/=]+)\n$/u;

/** Takes a note apart; nothing when it is not exactly a text, an empty line and one signature line. */
export function readNote(note: string): SignedNote | undefined {
  const { text, name, blob } = NOTE_FORM.exec(note)?.groups ?? {};
  const bytes = fromBase64(blob ?? "");
  if (text === undefined || name === undefined || bytes?.length !== 68) return undefined;
  // The text ends at the last empty line, and holds none itself in a ledger.
  if (text.startsWith("\n") || text.includes("\n\n")) return undefined;
  return { text, name, keyHash: toHex(bytes.subarray(0, 4)), signature: bytes.slice(4) };
}

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
const LOG_KEY_FORM = /^(?<name>[^\s+]+)\+(?<hash>[0-9a-f]{8})\+(?<key>[A-Za-z0-9+/=]+)$/u;

/** Reads a verifier key; nothing when it is not one, is not of Ed25519, or its hash does not belong to it. */
export function readLogKey(text: string): LogKey | undefined {
  const { name, hash, key } = LOG_KEY_FORM.exec(text)?.groups ?? {};
  const bytes = fromBase64(key ?? "");
  if (name === undefined || hash === undefined || bytes?.length !== 33 || bytes[0] !== ED25519)
    return undefined;
  if (toHex(sha256(concat(utf8(`${name}\n`), bytes)).subarray(0, 4)) !== hash) return undefined;
  return { text, name, hash, publicKey: bytes.slice(1) };
}

/** What a checkpoint says, and the note that says it. */
export interface Checkpoint extends TreeHead {
  /** Names the ledger. */
  readonly origin: string;
  readonly note: SignedNote;
}

const CHECKPOINT_FORM = /^(?<origin>[^\n]+)\n(?<size>0|[1-9][0-9]{0,15})\n(?<root>[A-Za-z0-9+/=]+)\n$/;

/** Reads a checkpoint; nothing when the note is not exactly of the form. Its signature is not looked at. */
export function readCheckpoint(text: string): Checkpoint | undefined {
  const note = readNote(text);
  const { origin, size, root } = CHECKPOINT_FORM.exec(note?.text ?? "")?.groups ?? {};
  const bytes = fromBase64(root ?? "");
  if (note === undefined || origin === undefined || bytes?.length !== HASH_LENGTH) return undefined;
  if (!Number.isSafeInteger(Number(size))) return undefined;
  return { origin, size: Number(size), root: bytes, note };
}

/** Whether a key signed a checkpoint of its own ledger: name, origin, key hash and signature are as they must be. */
export async function isSignedBy(checkpoint: Checkpoint, key: LogKey): Promise<boolean> {
  const { origin, note } = checkpoint;
  if (origin !== key.name || note.name !== key.name || note.keyHash !== key.hash) return false;
  return webCrypto.check({ publicKey: key.publicKey, signature: note.signature, message: utf8(note.text) });
}

/** How far a verification has come. */
export interface Progress {
  readonly entries: number;
  /** How many there will be, by the ledger's own word. */
  readonly total: number | undefined;
}

/** What a verification is asked to do beyond looking. */
export interface VerifyOptions {
  /** The log's verifier key, `NAME+HASH+KEY`, as you know it from elsewhere. Without it the ledger's own word is taken. */
  readonly logKey?: string | undefined;
  /** A checkpoint from an earlier day, the whole signed note: the ledger has to extend what it was then. */
  readonly seen?: string | undefined;
  /** How many faults to list in full; 1,000 unless given. */
  readonly maxFaults?: number | undefined;
  /** Called every few thousand entries. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a caller trusts already. */
export interface Trust {
  readonly key: LogKey | undefined;
  readonly seen: Checkpoint | undefined;
}

/** Reads the key and the checkpoint that a caller gave. */
export function trustOf({ logKey, seen }: VerifyOptions): Trust {
  const key = logKey === undefined ? undefined : readLogKey(logKey.trim());
  if (logKey !== undefined && key === undefined) {
    throw new VerifyError("bad_option", "The log key is not a verifier key of the form NAME+HASH+KEY.");
  }
  const checkpoint = seen === undefined ? undefined : readCheckpoint(seen);
  if (seen !== undefined && checkpoint === undefined) {
    throw new VerifyError(
      "bad_option",
      "The earlier checkpoint is not one: give the whole signed note, with its last newline.",
    );
  }
  return { key, seen: checkpoint };
}
