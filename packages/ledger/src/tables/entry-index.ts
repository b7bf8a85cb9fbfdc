import type { Database, Statement } from "@reins/store";

/** Number of entries that are indexed together when the store is idle. */
const WORTHWHILE = 256;
/** With so many not indexed, the next append indexes them. As many of the newest bodies are kept unpacked. */
const MOST = 1_024;

/**
 * What entries are found by: quality, actor, time and tags. An index for each, kept up with every entry, would cost more
 * than the entry itself, so it is done for many at once. A search scans the entries that are not indexed yet.
 */
export class EntryIndex {
  readonly #count: Statement;
  readonly #add: Statement;
  readonly #addTags: Statement;
  readonly #clear: Statement;
  #missing = 0;

  constructor(database: Database) {
    const isMissing = "e.seq > (SELECT coalesce(max(seq), -1) FROM ledger_index)";
    this.#count = database.prepare(`SELECT count(*) AS missing FROM ledger_entries e WHERE ${isMissing}`);
    this.#add = database.prepare(
      `INSERT INTO ledger_index (seq, quality, actor, timestamp)
       SELECT e.seq, e.quality, e.actor, e.timestamp FROM ledger_entries e WHERE ${isMissing}`,
    );
    // In the order of the table, so that each of its pages is looked for once. An entry may name a tag twice.
    this.#addTags = database.prepare(
      `INSERT OR IGNORE INTO ledger_tags (tag, seq)
       SELECT t.value, e.seq FROM ledger_recent e JOIN json_each(e.body, '$.tags') t WHERE ${isMissing} ORDER BY 1, 2`,
    );
    this.#clear = database.prepare(
      `DELETE FROM ledger_recent WHERE seq <= (SELECT max(seq) FROM ledger_entries) - ${MOST}`,
    );
  }

  /** Whether enough entries are missing to update it when the store is idle. */
  get isDue(): boolean {
    return this.#missing >= WORTHWHILE;
  }

  /** Counts an entry that was added. */
  added(): void {
    this.#missing += 1;
    if (this.#missing >= MOST) this.update();
  }

  /** Brings it up to date. */
  update(): void {
    // The tags first: what is missing is known from the other table.
    this.#addTags.run();
    this.#add.run();
    this.#clear.run();
    this.#missing = 0;
  }

  /** Counts again what is missing, when it is opened or something was undone. */
  restore(): void {
    const row = this.#count.get();
    this.#missing = typeof row === "object" && row !== null && "missing" in row ? Number(row.missing) : 0;
  }
}
