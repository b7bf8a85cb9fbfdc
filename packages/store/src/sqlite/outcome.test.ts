import SqliteDatabase from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { StoreError } from "../store-error.ts";
import { translate } from "./outcome.ts";

const sqlite = (code: string) => new SqliteDatabase.SqliteError("as SQLite says it", code);

describe("what an error of SQLite means", () => {
  it.each([
    ["SQLITE_FULL", "full", true],
    ["SQLITE_BUSY", "locked", true],
    ["SQLITE_BUSY_SNAPSHOT", "locked", true],
    ["SQLITE_CORRUPT_INDEX", "corrupt", false],
    ["SQLITE_NOTADB", "corrupt", false],
    ["SQLITE_IOERR_FSYNC", "io", false],
    ["SQLITE_IOERR_WRITE", "io", false],
    ["SQLITE_CANTOPEN", "io", false],
    ["SQLITE_READONLY_DBMOVED", "io", false],
    ["SQLITE_NOMEM", "io", false],
    ["SQLITE_CONSTRAINT_UNIQUE", "conflict", false],
    ["SQLITE_CONSTRAINT_PRIMARYKEY", "conflict", false],
    ["SQLITE_CONSTRAINT_FOREIGNKEY", "conflict", false],
    ["SQLITE_CONSTRAINT_CHECK", "invalid", false],
    ["SQLITE_CONSTRAINT_DATATYPE", "invalid", false],
    ["SQLITE_ERROR", "invalid", false],
  ])("%s is %s", (code, meaning, retryable) => {
    const cause = sqlite(code);
    const error = translate(cause);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: meaning, retryable, cause });
    expect(error.message).toContain("as SQLite says it");
  });

  it("leaves the store's own errors alone, and keeps the message of any other", () => {
    const own = new StoreError("fenced", "too late");
    expect(translate(own)).toBe(own);
    expect(translate(new Error("not today"))).toMatchObject({ code: "invalid", message: "not today" });
    expect(translate("just so")).toMatchObject({ code: "invalid", message: "just so" });
  });
});
