import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Complaint } from "../report.ts";
import type { BodyReader } from "./ledger-database.ts";

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
export class SearchTables {
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
