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
export function rangeSql(range: EntryRange): { sql: string; parameters: Readonly<Record<string, unknown>> } {
  const { entity_prefix, order, limit = DEFAULT_LIMIT } = range;
  const last = entity_prefix === undefined ? undefined : afterAll(entity_prefix);
  const values = { ...range, last, limit: Math.min(limit, MAX_LIMIT) };
  const parameters = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  const sql = usesIndex(range) ? `${indexed(range)} UNION ALL ${notIndexed(range)}` : direct(range);
  return { sql: `${sql} ORDER BY seq ${order === "newest" ? "DESC" : "ASC"} LIMIT @limit`, parameters };
}

/** A session is looked through faster than what the index finds, unless that is a tag. */
function usesIndex({ entity_id, quality, actor, tag, since, until }: EntryRange): boolean {
  if (tag !== undefined) return true;
  return entity_id === undefined && [quality, actor, since, until].some((value) => value !== undefined);
}

function direct(range: EntryRange): string {
  return `SELECT e.seq, e.cid, e.body, e.packed FROM ledger_entries e WHERE ${conditions(range, "e", "e")}`;
}

/** Those that the index knows, in the order in which it gives them. */
function indexed(range: EntryRange): string {
  if (range.tag === undefined) {
    return `SELECT i.seq, e.cid, e.body, e.packed FROM ledger_index i JOIN ledger_entries e ON e.seq = i.seq
      WHERE ${conditions(range, "i", "i")}`;
  }
  return `SELECT t.seq, e.cid, e.body, e.packed FROM ledger_tags t JOIN ledger_entries e ON e.seq = t.seq
    WHERE t.tag = @tag AND ${conditions(range, "t", "e")}`;
}

/** Those that were added since, one by one. */
function notIndexed(range: EntryRange): string {
  const isTagged =
    "EXISTS (SELECT 1 FROM ledger_recent r, json_each(r.body, '$.tags') WHERE r.seq = e.seq AND value = @tag)";
  return `SELECT e.seq, e.cid, e.body, e.packed FROM ledger_entries e NOT INDEXED
    WHERE e.seq > (SELECT coalesce(max(seq), -1) FROM ledger_index)
      AND ${range.tag === undefined ? "TRUE" : isTagged} AND ${conditions(range, "e", "e")}`;
}

/** What a range asks of an entry `e`, whose place and whose other members may be known from tables beside it. */
function conditions(range: EntryRange, place: "e" | "i" | "t", members: "e" | "i"): string {
  const { after, order, entity_id, entity_prefix, quality, actor, since, until } = range;
  const all: [string, unknown][] = [
    [`${place}.seq ${order === "newest" ? "<" : ">"} @after`, after],
    ["e.entity_id = @entity_id", entity_id],
    ["e.entity_id >= @entity_prefix AND e.entity_id < @last", entity_prefix],
    [`${members}.quality = @quality`, quality],
    [`${members}.actor = @actor`, actor],
    [`${members}.timestamp >= @since`, since],
    [`${members}.timestamp < @until`, until],
  ];
  const given = all.filter(([, value]) => value !== undefined).map(([condition]) => condition);
  return given.join(" AND ") || "TRUE";
}

/** What sorts after everything that begins so. */
function afterAll(prefix: string): string {
  return `${prefix}\u{10FFFF}`;
}
