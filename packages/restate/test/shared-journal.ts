import { DatabaseSync } from "node:sqlite";
import type { EngineEnd, JournaledRun, RunJournal } from "@reins/graph";

/** A journal in a file of SQLite that several processes use at once, as nodes use one database. */
export class SharedJournal implements RunJournal<unknown, unknown> {
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec(`PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, input TEXT, canceled INTEGER DEFAULT 0, ended TEXT);
      CREATE TABLE IF NOT EXISTS entries (run TEXT, name TEXT, value TEXT, PRIMARY KEY (run, name))`);
  }

  async create(run: string, input: unknown): Promise<void> {
    this.#run("INSERT OR IGNORE INTO runs (run, input) VALUES (?, ?)", run, text(input));
  }

  async load(run: string): Promise<JournaledRun<unknown, unknown> | undefined> {
    const row = this.#database.prepare("SELECT input, canceled, ended FROM runs WHERE run = ?").get(run);
    if (!row) return undefined;
    const entries = this.#database.prepare("SELECT name, value FROM entries WHERE run = ?").all(run);
    return {
      input: JSON.parse(String(row.input)),
      isCanceled: row.canceled === 1,
      end: row.ended === null ? undefined : JSON.parse(String(row.ended)),
      entries: new Map(entries.map(({ name, value }) => [String(name), JSON.parse(String(value))])),
    };
  }

  async unfinished(): Promise<readonly string[]> {
    return this.#database
      .prepare("SELECT run FROM runs WHERE ended IS NULL")
      .all()
      .map(({ run }) => String(run));
  }

  async append(run: string, name: string, value: unknown): Promise<void> {
    this.#run("INSERT OR IGNORE INTO entries (run, name, value) VALUES (?, ?, ?)", run, name, text(value));
  }

  async cancel(run: string): Promise<void> {
    this.#run("UPDATE runs SET canceled = 1 WHERE run = ? AND ended IS NULL", run);
  }

  async end(run: string, end: EngineEnd<unknown>): Promise<void> {
    this.#run("UPDATE runs SET ended = ? WHERE run = ? AND ended IS NULL", text(end), run);
  }

  async reopen(run: string, name: string, value: unknown): Promise<void> {
    this.#run("UPDATE runs SET ended = NULL WHERE run = ?", run);
    await this.append(run, name, value);
  }

  close(): void {
    this.#database.close();
  }

  #run(sql: string, ...values: string[]): void {
    this.#database.prepare(sql).run(...values);
  }
}

function text(value: unknown): string {
  return JSON.stringify(value ?? null);
}
