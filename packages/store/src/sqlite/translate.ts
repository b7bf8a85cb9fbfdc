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
