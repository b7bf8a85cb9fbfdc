import { z } from "zod";
import { blake3Hex } from "../blake3.ts";
import { assertPlainJson, canonicalJson } from "../canonical.ts";
import { LedgerError } from "../ledger-error.ts";
import { type Cid, type EntryContent, LedgerEntry } from "./entry.ts";

/** The largest entry, in bytes of its canonical form. */
const MAX_ENTRY_BYTES = 1024 * 1024;

/** An entry with the text its content id was computed from. */
interface BuiltEntry {
  readonly entry: LedgerEntry;
  /** The canonical form of everything but the content id. */
  readonly body: string;
}

const Content = LedgerEntry.omit({ cid: true });

/** Makes an entry from its content; the content id is computed, never given. */
export function buildEntry(content: EntryContent): BuiltEntry {
  assertPlainJson(content, "entry");
  const checked = Content.safeParse(content);
  if (!checked.success) throw new LedgerError("invalid", z.prettifyError(checked.error));
  const body = bodyOf(checked.data);
  return { entry: { cid: cidOf(body), ...checked.data }, body };
}

/** The canonical form of an entry's content. */
export function bodyOf(content: EntryContent): string {
  const body = canonicalJson(content);
  assertSize(body);
  return body;
}

/** Refuses an entry beyond the bound, given all the text it will have. */
export function assertSize(...texts: readonly string[]): void {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  // No character takes more than three bytes for each of its UTF-16 units.
  if (length * 3 <= MAX_ENTRY_BYTES) return;
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes <= MAX_ENTRY_BYTES) return;
  throw new LedgerError("invalid", `an entry is at most ${MAX_ENTRY_BYTES} bytes long, this one is ${bytes}`);
}

/** The content id that belongs to a canonical body. */
export function cidOf(body: string): Cid {
  return blake3Hex(body);
}

/** The entry of a body that was written by us. */
export function entryOf(cid: Cid, body: string): LedgerEntry {
  const content: EntryContent = JSON.parse(body);
  return { cid, ...content };
}
