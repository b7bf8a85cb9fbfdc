import canonicalize from "canonicalize";
import { LedgerError } from "./ledger-error.ts";

/** The RFC 8785 form of a plain JSON value; check first that it is one. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new LedgerError("invalid", "there is no JSON to write");
  return text;
}
