import SqliteDatabase from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { expectMigrated, migrate } from "./migrate.ts";

const modules = (...migrations: string[]) => new Map([["t", { migrations }]]);

describe("migrations", () => {
  it("are counted per tables, and write nothing when there is nothing to do", () => {
    const database = new SqliteDatabase(":memory:");
    const both = new Map([
      ["a", { migrations: ["CREATE TABLE a (x)"] }],
      ["b", { migrations: ["CREATE TABLE b (x)", "CREATE TABLE c (x)"] }],
    ]);
    migrate(database, both);
    const before = database.prepare("SELECT total_changes() AS changes").get();
    migrate(database, both);
    expect(database.prepare("SELECT total_changes() AS changes").get()).toEqual(before);
    expect(database.prepare("SELECT * FROM migrations ORDER BY tables").all()).toEqual([
      { tables: "a", version: 1 },
      { tables: "b", version: 2 },
    ]);
  });

  it("give the error that stopped them, also when SQLite has undone them already", () => {
    const database = new SqliteDatabase(":memory:");
    const failing = "CREATE TABLE a (x); INSERT INTO nowhere VALUES (1)";
    expect(() => migrate(database, modules(failing))).toThrow("no such table: nowhere");
    expect(() => migrate(database, modules("ROLLBACK; INSERT INTO nowhere VALUES (1)"))).toThrow("nowhere");
    expect(database.prepare("SELECT count(*) AS count FROM sqlite_schema").get()).toEqual({ count: 0 });
  });

  it("are expected by a reader, neither more nor fewer", () => {
    const database = new SqliteDatabase(":memory:");
    expect(() => expectMigrated(database, modules("CREATE TABLE a (x)"))).toThrow(
      "open the database for writing",
    );
    migrate(database, modules("CREATE TABLE a (x)"));
    expectMigrated(database, modules("CREATE TABLE a (x)"));
    expect(() => expectMigrated(database, modules())).toThrow("update it");
    expect(() => expectMigrated(database, modules("CREATE TABLE a (x)", "CREATE TABLE b (x)"))).toThrow(
      "needs 2",
    );
  });
});
