import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { jcs, type LedgerMaker, ORIGIN } from "./ledger-maker.ts";

/** Writes a ledger as a data folder, by the words of the format; returns the open database. */
export async function writeDataFolder(folder: string, ledger: LedgerMaker): Promise<DatabaseSync> {
  const database = new DatabaseSync(join(folder, "reins.db"));
  database.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE ledger_entries (
      seq INTEGER PRIMARY KEY, cid TEXT NOT NULL, quality TEXT NOT NULL, actor TEXT NOT NULL, body TEXT NOT NULL);
    CREATE TABLE ledger_index (
      seq INTEGER PRIMARY KEY, quality TEXT NOT NULL, actor TEXT NOT NULL, timestamp TEXT NOT NULL);
    CREATE TABLE ledger_tags (tag TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (tag, seq));
    CREATE TABLE ledger_checkpoints (size INTEGER PRIMARY KEY, note TEXT NOT NULL);
    CREATE TABLE ledger_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);`);
  const meta = database.prepare("INSERT INTO ledger_meta VALUES (?, ?)");
  meta.run("origin", ORIGIN);
  meta.run("log_key", ledger.logKey);
  addToDatabase(database, ledger, 0);
  for (const [digest, bytes] of ledger.artifacts) {
    const path = artifactPath(folder, digest);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  }
  return database;
}

/** Writes the entries from a number on, and the checkpoints that cover them, as one transaction each. */
export function addToDatabase(database: DatabaseSync, ledger: LedgerMaker, from: number): void {
  const insert = database.prepare("INSERT INTO ledger_entries VALUES (?, ?, ?, ?, ?)");
  database.exec("BEGIN");
  const index = database.prepare("INSERT INTO ledger_index VALUES (?, ?, ?, ?)");
  const tag = database.prepare("INSERT OR IGNORE INTO ledger_tags VALUES (?, ?)");
  for (const [seq, { cid, ...content }] of ledger.entries.entries()) {
    if (seq < from) continue;
    insert.run(seq, cid, content.quality, content.actor, jcs(content));
    index.run(seq, content.quality, content.actor, content.timestamp);
    for (const one of content.tags) tag.run(one, seq);
  }
  database.exec("COMMIT");
  const sign = database.prepare("INSERT OR IGNORE INTO ledger_checkpoints VALUES (?, ?)");
  for (const { size, note } of ledger.checkpoints) sign.run(size, note);
}

/** Where an artifact lies. */
export function artifactPath(folder: string, digest: string): string {
  return join(folder, "artifacts", digest.slice(0, 2), digest);
}
