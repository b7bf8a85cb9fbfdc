import { fromBase64 } from "../bytes/base64.ts";
import type { Bytes } from "../bytes/bytes.ts";
import { toHex } from "../bytes/hex.ts";

/** A C2SP signed note with its one signature. */
export interface SignedNote {
  /** What is signed, with the newline at its end. */
  readonly text: string;
  /** Whose key is said to have signed. */
  readonly name: string;
  /** The four bytes that identify that key, in hexadecimal. */
  readonly keyHash: string;
  readonly signature: Bytes;
}

const FORM = /^(?<text>(?:[^\n]*\n)+)\n\u2014 (?<name>[^\s+]+) (?<blob>[A-Za-z0-9+/=]+)\n$/u;

/** Takes a note apart; nothing when it is not exactly a text, an empty line and one signature line. */
export function readNote(note: string): SignedNote | undefined {
  const { text, name, blob } = FORM.exec(note)?.groups ?? {};
  const bytes = fromBase64(blob ?? "");
  if (text === undefined || name === undefined || bytes?.length !== 68) return undefined;
  // The text ends at the last empty line, and holds none itself in a ledger.
  if (text.startsWith("\n") || text.includes("\n\n")) return undefined;
  return { text, name, keyHash: toHex(bytes.subarray(0, 4)), signature: bytes.slice(4) };
}
