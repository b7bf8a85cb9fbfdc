import type { Database, Statement } from "@reins/store";

/** What the ledger knows about itself: `origin`, `log_key`, `mirror`. */
export class Meta {
  readonly #read: Statement;
  readonly #write: Statement;

  constructor(database: Database) {
    this.#read = database.prepare("SELECT value FROM ledger_meta WHERE name = ?");
    this.#write = database.prepare("INSERT OR REPLACE INTO ledger_meta (name, value) VALUES (?, ?)");
  }

  /** The value of a name. */
  get(name: string): string | undefined {
    const row = this.#read.get(name);
    return typeof row === "object" && row !== null && "value" in row ? String(row.value) : undefined;
  }

  /** Sets values; the others stay. */
  set(values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values)) this.#write.run(name, value);
  }
}
