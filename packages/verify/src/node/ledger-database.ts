import { existsSync } from "node:fs";
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";
import type { InspectedEntry } from "../entry/entry.ts";
import type { Line, WitnessedLine } from "../export/read.ts";
import { entryText, FORMAT } from "../export/record.ts";
import { type Complaint, VerifyError } from "../report.ts";

/** Entries that the index should know and that it does not find by all that they are to be found by. */
const notFound = (body: string) => `
  WITH e AS MATERIALIZED (SELECT seq, ${body} AS body FROM ledger_entries WHERE seq BETWEEN ? AND ?)
  SELECT e.seq FROM e LEFT JOIN ledger_index i ON i.seq = e.seq
  WHERE json_valid(e.body) AND (
    i.seq IS NULL
    OR i.quality IS NOT e.body ->> '$.quality'
    OR i.actor IS NOT e.body ->> '$.actor'
    OR i.timestamp IS NOT e.body ->> '$.timestamp'
    OR EXISTS (
      SELECT 1 FROM json_each(e.body, '$.tags') t
      WHERE NOT EXISTS (SELECT 1 FROM ledger_tags g WHERE g.tag = t.value AND g.seq = e.seq)
    )
  )`;

/**
 * The tables by which a database finds entries. They prove nothing, but changing them hides entries from
 * searches. Entries behind the last that the index knows are looked through one by one, so nothing hides them.
 */
class SearchTables {
  readonly #notFound: StatementSync;
  /** The last entry that the index claims to know. */
  readonly #last: number;

  private constructor(database: DatabaseSync, bodies: BodyReader) {
    database.function("body_of", (body, packed) => bodies.bodyOf(body ?? null, packed ?? null));
    this.#notFound = database.prepare(notFound(bodies.packs ? "body_of(body, packed)" : "body"));
    const row = database.prepare("SELECT coalesce(max(seq), -1) AS last FROM ledger_index").get();
    this.#last = Number(row?.last ?? -1);
  }

  /** The tables of a database, if it has any. */
  static of(database: DatabaseSync, bodies: BodyReader): SearchTables | undefined {
    const found = database
      .prepare("SELECT name FROM sqlite_schema WHERE name IN ('ledger_index', 'ledger_tags')")
      .all();
    return found.length === 2 ? new SearchTables(database, bodies) : undefined;
  }

  /** Reports entries of a range, both ends included, that a search would miss. */
  compare(first: number, last: number): Complaint[] {
    return this.#notFound.all(first, Math.min(last, this.#last)).map(({ seq }) => ({
      code: "copy_mismatch",
      message: `a search of the database misses entry ${seq}: what it is found by was changed or removed`,
    }));
  }

  /** Reports an index that claims to know entries that are yet to come, which a search would miss then. */
  beyond(entries: number): Complaint[] {
    if (this.#last < entries) return [];
    const message = "a search of the database will miss entries to come: its index claims to know them";
    return [
      {
        code: "copy_mismatch",
        message,
        expected: `at most entry ${entries - 1}`,
        found: `entry ${this.#last}`,
      },
    ];
  }
}

/** A row of the table of entries. */
type EntryRow = Record<string, SQLOutputValue>;

/** The members that a row may repeat in columns of their own, to be searched by. */
const COPIED = ["entity_id", "target", "quality", "timestamp", "source", "actor"] as const;

/** A row as the line that an export would have for it. */
function entryLine(row: EntryRow): WitnessedLine {
  return { text: textOf(row), compare: (inspected) => compare(row, inspected) };
}

function textOf({ seq, cid, body }: EntryRow): string {
  const isObject = typeof body === "string" && body.startsWith("{");
  if (!isObject) return JSON.stringify({ kind: "entry", seq, entry: null });
  return entryText(JSON.stringify(seq), JSON.stringify(cid), body);
}

function compare(row: EntryRow, { entry, content }: InspectedEntry): Complaint[] {
  const complaints: Complaint[] = [];
  if (content !== undefined && content.body !== row.body) {
    complaints.push({
      code: "entry_not_canonical",
      message: "the database holds the entry in another form than the canonical one",
      expected: content.body,
      found: String(row.body),
    });
  }
  for (const member of COPIED) {
    const copy = row[member];
    if (entry === undefined || typeof copy !== "string" || copy === entry[member]) continue;
    complaints.push({
      code: "copy_mismatch",
      message: `the database finds the entry under another ${member} than it has`,
      expected: entry[member],
      found: copy,
    });
  }
  return complaints;
}

/** The dictionary that the first byte of a packed body names. */
const FIRST = 1;

/** Reads the bodies of entries: as they are, or packed with the sample that the database keeps. */
class BodyReader {
  /** Whether the database may hold packed bodies. */
  readonly packs: boolean;
  readonly #sample: Buffer;

  private constructor(packs: boolean, sample: string) {
    this.packs = packs;
    this.#sample = Buffer.from(sample);
  }

  /** The reader for a database. */
  static of(database: DatabaseSync): BodyReader {
    const columns = database.prepare("SELECT name FROM pragma_table_info('ledger_entries')").all();
    const row = database.prepare("SELECT value FROM ledger_meta WHERE name = 'sample_1'").get();
    return new BodyReader(
      columns.some(({ name }) => name === "packed"),
      String(row?.value ?? ""),
    );
  }

  /** A row with its body unpacked; one that cannot be has none. */
  read(row: EntryRow): EntryRow {
    const { packed, ...rest } = row;
    return { ...rest, body: this.bodyOf(row.body ?? null, packed ?? null) };
  }

  /** The body of an entry. */
  bodyOf(body: SQLOutputValue, packed: SQLOutputValue): SQLOutputValue {
    if (!(packed instanceof Uint8Array)) return body;
    if (packed[0] !== FIRST || body !== "") return null;
    try {
      return inflateSync(packed.subarray(1), { dictionary: this.#sample }).toString();
    } catch {
      return null;
    }
  }
}

/** The log signs within 100 ms of an entry; this long an entry may wait before it counts as not signed. */
const SIGNED_WITHIN = 2_000;
const LOOK_EVERY = 25;
const BATCH = 512;

/** A ledger in a database, read as if it were an export. */
export class LedgerDatabase {
  readonly #database: DatabaseSync;
  #size = 0;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Opens a database for reading. */
  static async open(path: string): Promise<LedgerDatabase> {
    if (!existsSync(path))
      throw new VerifyError("no_ledger", `${path} is not there: this is no data folder.`);
    const { DatabaseSync: Database } = await import("node:sqlite");
    try {
      return LedgerDatabase.#reading(new Database(path, { readOnly: true }));
    } catch (cause) {
      // Where nothing can be written, SQLite cannot share the file with a writer. Without a log to read there is none.
      if (existsSync(`${path}-wal`)) throw unreadable(path, cause);
      const unchanging = pathToFileURL(path);
      unchanging.searchParams.set("immutable", "1");
      try {
        return LedgerDatabase.#reading(new Database(unchanging, { readOnly: true }));
      } catch {
        throw unreadable(path, cause);
      }
    }
  }

  static #reading(database: DatabaseSync): LedgerDatabase {
    database.prepare("SELECT seq, cid, body FROM ledger_entries LIMIT 1").get();
    return new LedgerDatabase(database);
  }

  /**
   * Chooses what to verify in a ledger that may be growing: everything there is now, and what comes until a checkpoint
   * covers it. Entries younger than that checkpoint are left for the next time.
   */
  async settle(signal: AbortSignal | undefined): Promise<void> {
    const entries = this.#entries();
    for (let waited = 0; waited < SIGNED_WITHIN && this.#covered() < entries; waited += LOOK_EVERY) {
      await wait(LOOK_EVERY, undefined, signal ? { signal } : {});
    }
    this.#database.exec("BEGIN");
    const covered = this.#covered();
    this.#size = covered >= entries ? Math.min(covered, this.#entries()) : this.#entries();
  }

  /** The lines that an export of this ledger would have. */
  async *lines(): AsyncGenerator<readonly Line[]> {
    const header = { kind: "header", format: FORMAT, ...this.#meta(), size: this.#size };
    const bodies = BodyReader.of(this.#database);
    const search = SearchTables.of(this.#database, bodies);
    let batch: Line[] = [JSON.stringify(header)];
    let next = 0;
    const checkpoints = this.#database
      .prepare("SELECT size, note FROM ledger_checkpoints ORDER BY size")
      .iterate();
    let checkpoint = checkpoints.next();
    const passCheckpoints = (size: number) => {
      for (; !checkpoint.done && Number(checkpoint.value.size) <= size; checkpoint = checkpoints.next()) {
        batch.push(JSON.stringify({ kind: "checkpoint", note: checkpoint.value.note }));
      }
    };
    const entries = this.#database.prepare("SELECT * FROM ledger_entries WHERE seq < ? ORDER BY seq");
    for (const row of entries.iterate(this.#size)) {
      passCheckpoints(Number(row.seq));
      batch.push(entryLine(bodies.read(row)));
      if (batch.length < BATCH) continue;
      yield [...batch, ...(search?.compare(next, Number(row.seq)) ?? [])];
      next = Number(row.seq) + 1;
      batch = [];
    }
    passCheckpoints(Number.POSITIVE_INFINITY);
    yield [...batch, JSON.stringify({ kind: "end", size: this.#size })];
    yield [...(search?.compare(next, this.#size - 1) ?? []), ...(search?.beyond(this.#entries()) ?? [])];
  }

  close(): void {
    this.#database.close();
  }

  #entries(): number {
    return this.#number("SELECT coalesce(max(seq) + 1, 0) AS number FROM ledger_entries");
  }

  #covered(): number {
    return this.#number("SELECT coalesce(max(size), 0) AS number FROM ledger_checkpoints");
  }

  #number(query: string): number {
    return Number(this.#database.prepare(query).get()?.number ?? 0);
  }

  #meta(): Record<string, unknown> {
    const rows = this.#database
      .prepare("SELECT name, value FROM ledger_meta WHERE name IN ('origin', 'log_key')")
      .all();
    return Object.fromEntries(rows.map(({ name, value }) => [String(name), value]));
  }
}

function unreadable(path: string, cause: unknown): VerifyError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  if (/no such table/.test(reason))
    return new VerifyError("no_ledger", `${path} holds no ledger.`, { cause });
  return new VerifyError("unreadable", `${path} cannot be read: ${reason}.`, { cause });
}
