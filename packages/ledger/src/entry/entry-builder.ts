import { z } from "zod";
import { blake3Hex } from "../blake3.ts";
import { canonicalJson } from "../canonical.ts";
import { LedgerError } from "../ledger-error.ts";
import { assertPlainJson } from "../plain-json.ts";
import { type Cid, type EntryContent, LedgerEntry } from "./entry.ts";

/** The largest entry, in characters of its canonical form. */
export const MAX_ENTRY_LENGTH = 1024 * 1024;

/** An entry with the text its content id was computed from. */
export interface BuiltEntry {
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
  if (body.length <= MAX_ENTRY_LENGTH) return body;
  throw new LedgerError(
    "invalid",
    `an entry is at most ${MAX_ENTRY_LENGTH} characters long, this one is ${body.length}`,
  );
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
