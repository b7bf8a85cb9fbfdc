/** Which entries, from where, and how many. */
export interface EntryRange {
  /** Entries after this one, or before it when the newest come first. */
  readonly after?: number | undefined;
  readonly order?: "oldest" | "newest" | undefined;
  readonly limit?: number | undefined;
  readonly entity_id?: string | undefined;
  /** Of sessions whose names begin so. */
  readonly entity_prefix?: string | undefined;
  readonly quality?: string | undefined;
  readonly actor?: string | undefined;
  readonly tag?: string | undefined;
  /** Not before this time, RFC 3339. */
  readonly since?: string | undefined;
  /** Before this time. */
  readonly until?: string | undefined;
}

/** The most entries one query gives. */
const MAX_LIMIT = 10_000;
const DEFAULT_LIMIT = 100;

/** A range as SQL with its parameters. `seq` is the cursor, so pages never overlap and nothing slips between them. */
export function rangeSql(range: EntryRange): { sql: string; parameters: unknown[] } {
  const newest = range.order === "newest";
  const conditions: [string, unknown][] = [
    [newest ? "e.seq < ?" : "e.seq > ?", range.after],
    ["e.entity_id = ?", range.entity_id],
    ["e.entity_id >= ?", range.entity_prefix],
    ["e.entity_id < ?", range.entity_prefix && afterAll(range.entity_prefix)],
    ["e.quality = ?", range.quality],
    ["e.actor = ?", range.actor],
    ["t.tag = ?", range.tag],
    ["e.timestamp >= ?", range.since],
    ["e.timestamp < ?", range.until],
  ];
  const given = conditions.filter(([, value]) => value !== undefined);
  const from =
    range.tag === undefined ? "ledger_entries e" : "ledger_tags t JOIN ledger_entries e ON e.seq = t.seq";
  const where = given.length > 0 ? ` WHERE ${given.map(([condition]) => condition).join(" AND ")}` : "";
  const limit = Math.min(range.limit ?? DEFAULT_LIMIT, MAX_LIMIT);
  const sql = `SELECT e.seq, e.cid, e.body FROM ${from}${where} ORDER BY e.seq ${newest ? "DESC" : "ASC"} LIMIT ?`;
  return { sql, parameters: [...given.map(([, value]) => value), limit] };
}

/** What sorts after everything that begins so. */
function afterAll(prefix: string): string {
  return `${prefix}\u{10FFFF}`;
}
