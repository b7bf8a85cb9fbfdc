import { readFileSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { scrub } from "./scrub.ts";

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

  it("says so when somebody who reads keeps it from that, and does it later", async () => {
    const { database, open, isLeft } = await databaseWithout(SECRET);
    const reader = open();
    reader.exec("BEGIN; SELECT count(*) FROM notes");
    expect(() => scrub(database)).toThrow(expect.objectContaining({ code: "locked", retryable: true }));
    reader.exec("COMMIT");
    scrub(database);
    expect(isLeft()).toBe(false);
  });
});
