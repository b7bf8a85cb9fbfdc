import { fromBase64 } from "../bytes/base64.ts";
import { utf8 } from "../bytes/bytes.ts";
import { webCrypto } from "../signature/web-crypto.ts";
import type { TreeHead } from "../tree/consistency.ts";
import { HASH_LENGTH } from "../tree/hashes.ts";
import type { LogKey } from "./log-key.ts";
import { readNote, type SignedNote } from "./note.ts";

/** What a checkpoint says, and the note that says it. */
export interface Checkpoint extends TreeHead {
  /** Names the ledger. */
  readonly origin: string;
  readonly note: SignedNote;
}

const FORM = /^(?<origin>[^\n]+)\n(?<size>0|[1-9][0-9]{0,15})\n(?<root>[A-Za-z0-9+/=]+)\n$/;

/** Reads a checkpoint; nothing when the note is not exactly of the form. Its signature is not looked at. */
export function readCheckpoint(text: string): Checkpoint | undefined {
  const note = readNote(text);
  const { origin, size, root } = FORM.exec(note?.text ?? "")?.groups ?? {};
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
