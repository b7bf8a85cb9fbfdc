import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../test/temporary-folder.ts";
import { damagedPages, PageSums } from "./examine.ts";
import { scrub, shortenLog, takeLogOver } from "./maintenance.ts";
import { openDatabase } from "./sqlite-database.ts";

describe("shortening the log", () => {
  it("takes it over into the database when it is long, and leaves it alone when it is not", async () => {
    const database = openDatabase(join(await temporaryFolder(), "a.db"), false);
    onTestFinished(() => database.close());
    database.exec("CREATE TABLE pieces (bytes BLOB) STRICT");
    const insert = database.prepare("INSERT INTO pieces (bytes) VALUES (zeroblob(?))");
    const log = () => database.prepare("PRAGMA wal_checkpoint(NOOP)").get();
    insert.run(100 * 4_096);
    shortenLog(database);
    expect(log()).toMatchObject({ checkpointed: 0 });
    insert.run(1_000 * 4_096);
    shortenLog(database);
    expect(log()).toMatchObject({ checkpointed: expect.any(Number) });
    expect(log()).not.toMatchObject({ checkpointed: 0 });
  });
});

it("a long log that a killed process left is not taken over behind the back of the sums", async () => {
  const folder = await temporaryFolder();
  const [path, left] = [join(folder, "a.db"), join(folder, "left.db")];
  const database = openDatabase(path, false);
  const sums = new PageSums(path);
  database.exec("CREATE TABLE t (a)");
  const write = (count: number) => {
    for (let row = 0; row < count; row += 1) database.exec("INSERT INTO t VALUES (randomblob(3000))");
  };
  write(10);
  expect(takeLogOver(database, sums)).toBe(true);
  write(1_200);
  for (const suffix of ["", "-wal", ".sums"]) cpSync(`${path}${suffix}`, `${left}${suffix}`);
  expect(damagedPages(left)).toEqual([]);
  const taken = openDatabase(left, false);
  taken.exec("INSERT INTO t VALUES (1)");
  expect(damagedPages(left)).toEqual([]);
  taken.close();
  database.close();
  sums.close();
});

const SECRET = "wisteria lantern";

async function databaseWithout(secret: string) {
  const path = join(await temporaryFolder(), "reins.db");
  const open = () => {
    const database = new SqliteDatabase(path, { timeout: 0 });
    onTestFinished(() => void database.close());
    return database;
  };
  const database = open();
  database.pragma("journal_mode = WAL");
  database.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)");
  const insert = database.prepare("INSERT INTO notes (text) VALUES (?)");
  for (let count = 0; count < 50; count += 1) insert.run(secret.repeat(1 + 40 * count));
  database.pragma("wal_checkpoint(PASSIVE)");
  database.exec("UPDATE notes SET text = 'nothing' WHERE id % 2 = 0; DELETE FROM notes WHERE id % 2 = 1");
  const isLeft = () => [path, `${path}-wal`].some((file) => readFileSync(file, "latin1").includes(secret));
  return { database, open, isLeft };
}

describe("a scrub", () => {
  it("leaves nothing of what was deleted or replaced, and all the rest", async () => {
    const { database, isLeft } = await databaseWithout(SECRET);
    expect(isLeft()).toBe(true);
    scrub(database);
    expect(isLeft()).toBe(false);
    expect(database.prepare("SELECT count(*) AS left FROM notes").get()).toEqual({ left: 25 });
  });

  it("fails while a reader blocks it, and works later", async () => {
    const { database, open, isLeft } = await databaseWithout(SECRET);
    const reader = open();
    reader.exec("BEGIN; SELECT count(*) FROM notes");
    expect(() => scrub(database)).toThrow(expect.objectContaining({ code: "locked", retryable: true }));
    reader.exec("COMMIT");
    scrub(database);
    expect(isLeft()).toBe(false);
  });
});
