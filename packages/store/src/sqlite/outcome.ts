import { errorMessage } from "@reins/kit";
import { StoreError, type StoreErrorCode } from "../store-error.ts";

const CODES: readonly (readonly [RegExp, StoreErrorCode, string])[] = [
  [/^SQLITE_FULL/, "full", "the disk is full; make room and try again"],
  [/^SQLITE_BUSY/, "locked", "another process writes to this database"],
  [/^SQLITE_(CORRUPT|NOTADB)/, "corrupt", "the database is damaged; restore a backup"],
  [/^SQLITE_READONLY/, "io", "the database cannot be written to"],
  [/^SQLITE_CANTOPEN/, "io", "the database cannot be opened"],
  [/^SQLITE_(IOERR|NOMEM)/, "io", "the disk failed; open the store anew"],
  [
    /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY|ROWID|FOREIGNKEY|TRIGGER)/,
    "conflict",
    "the change contradicts what is there",
  ],
  [/^SQLITE_CONSTRAINT/, "invalid", "the tables cannot take such a value"],
];

/** What an error of SQLite means to a caller. An error of the tables' own keeps its message. */
export function translate(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const text = errorMessage(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const [, known, meaning] = CODES.find(([pattern]) => pattern.test(code)) ?? [];
  if (known === undefined) return new StoreError("invalid", text, { cause: error });
  return new StoreError(known, `${meaning} (${code}: ${text})`, { cause: error });
}

/** An error as it crosses threads. */
interface Fault {
  readonly code: StoreErrorCode;
  readonly message: string;
}

/** What became of one commit or query. */
export type Outcome<Results = unknown[]> = { readonly results: Results } | { readonly error: Fault };

/**
 * The outcome of a commit as it crosses threads: the results of its changes, or their number when all are
 * undefined, which is the usual case.
 */
export type SentOutcome = unknown[] | number | { readonly error: Fault };

/** Makes an outcome ready to be sent. */
export function sent(outcome: Outcome): SentOutcome {
  if ("error" in outcome) return outcome;
  const { results } = outcome;
  return results.every((result) => result === undefined) ? results.length : results;
}

/** The outcome that was sent. */
export function received(outcome: SentOutcome): Outcome {
  if (typeof outcome === "number") return { results: new Array(outcome).fill(undefined) };
  return Array.isArray(outcome) ? { results: outcome } : outcome;
}

/** The outcome of what failed. */
export function failed(error: unknown): { readonly error: Fault } {
  const { code, message } = translate(error);
  return { error: { code, message } };
}

/** The results of an outcome, or its error thrown. */
export function unwrap<Results>(outcome: Outcome<Results>): Results {
  if ("error" in outcome) throw new StoreError(outcome.error.code, outcome.error.message);
  return outcome.results;
}
