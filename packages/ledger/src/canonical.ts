import canonicalize from "canonicalize";
import { LedgerError } from "./ledger-error.ts";
import { orderedJson } from "./ordered-json.ts";
import { recordedJson } from "./spelled-number.ts";

/** The RFC 8785 form of a plain JSON value; check first that it is one. */
export function canonicalJson(value: unknown): string {
  const text = quickCanonicalJson(value) ?? canonicalize(value);
  if (text === undefined) throw new LedgerError("invalid", "there is no JSON to write");
  return text;
}

/** The RFC 8785 form of a JSON value whose numbers may have more digits than a double holds. */
export function exactJson(value: unknown): string {
  return canonicalJson(recordedJson(value));
}

/**
 * The form of `canonicalJson`, where it can be told quickly that a value is plain JSON; else `undefined`. RFC 8785 writes texts and numbers
 * as JavaScript does, which does it several times as fast as anything written in it.
 */
export function quickCanonicalJson(value: unknown): string | undefined {
  const ordered = orderedJson(value);
  return ordered === undefined ? undefined : JSON.stringify(ordered);
}
