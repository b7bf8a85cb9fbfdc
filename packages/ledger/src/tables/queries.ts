import type { Database, Statement } from "@reins/store";
import { SYSTEM } from "../canonical.ts";
import { LedgerError } from "../ledger-error.ts";
import { consistencyProof, inclusionProof, type NodeSource } from "../tree.ts";
import { StoredTree } from "./append.ts";
import { entryPacker, Meta } from "./schema.ts";
import type { LedgerQueries, Progress, Sessions, StoredCheckpoint, StoredEntry } from "./tables.ts";

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

/** The most entries that one query returns. */
const MAX_LIMIT = 10_000;
const DEFAULT_LIMIT = 100;

/** A range as SQL with its parameters. `seq` is the cursor, so pages never overlap and nothing slips between them. */
function rangeSql(range: EntryRange): { sql: string; parameters: Readonly<Record<string, unknown>> } {
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

/** The indexed entries, in the order of the index. */
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

/** Leaps through the index from session to session, so that it costs by their number, not by that of their entries. */
const SESSIONS = `
  WITH RECURSIVE sessions (entity_id) AS (
    SELECT min(entity_id) FROM ledger_entries
    UNION ALL
    SELECT (SELECT min(e.entity_id) FROM ledger_entries e WHERE e.entity_id > sessions.entity_id)
    FROM sessions WHERE sessions.entity_id IS NOT NULL
  ), ends AS (
    SELECT entity_id, (SELECT max(e.seq) FROM ledger_entries e WHERE e.entity_id = sessions.entity_id) AS seq
    FROM sessions WHERE entity_id IS NOT NULL AND entity_id <> ?
  )
  SELECT ends.entity_id, ends.seq, last.timestamp, count(*) OVER () AS count
  FROM ends JOIN ledger_entries last ON last.seq = ends.seq
  ORDER BY ends.seq DESC LIMIT ?`;

type SessionRow = Sessions["recent"][number] & { readonly count: number };

/** Runs {@link SESSIONS}. */
function readSessions(statement: Statement<SessionRow>, limit: number): Sessions {
  const rows = statement.all(SYSTEM, Math.max(limit, 1));
  const recent = rows.map(({ entity_id, seq, timestamp }) => ({ entity_id, seq, timestamp }));
  return { count: rows[0]?.count ?? 0, recent: recent.slice(0, limit) };
}

/** An entry as it is stored; `body` is empty where `packed` holds it. */
interface EntryRow extends StoredEntry {
  readonly packed: Uint8Array | null;
}

function entryIn({ seq, cid, body, packed }: EntryRow): StoredEntry {
  return { seq, cid, body: packed ? entryPacker.unpack(packed) : body };
}

/** Prepares the ledger's queries on an open database. */
export function openQueries(database: Database): LedgerQueries {
  const ranges = new Map<string, Statement<EntryRow>>();
  const ranged = (sql: string): Statement<EntryRow> => {
    const known = ranges.get(sql) ?? database.prepare<EntryRow>(sql);
    ranges.set(sql, known);
    return known;
  };
  const tree = new StoredTree(database);
  /** The tree of a size; the last one asked for is kept, because proofs are mostly against the newest checkpoint. */
  const nodesOf = (size: number): NodeSource => {
    if (tree.tiles.size === size) return (level, index) => tree.tiles.node(level, index);
    const { stored } = tree;
    if (size > stored) throw new LedgerError("invalid", `there are ${stored} entries, not ${size}`);
    tree.restore(size);
    return (level, index) => tree.tiles.node(level, index);
  };
  const entrySql = "SELECT seq, cid, body, packed FROM ledger_entries WHERE cid";
  const get = database.prepare<EntryRow>(`${entrySql} = ?`);
  const find = database.prepare<EntryRow>(`${entrySql} >= ? AND cid < ? ORDER BY cid LIMIT ?`);
  const sessions = database.prepare<SessionRow>(SESSIONS);
  const checkpointSql = "SELECT size, note FROM ledger_checkpoints";
  const newest = database.prepare<StoredCheckpoint>(`${checkpointSql} ORDER BY size DESC LIMIT 1`);
  const ofSize = database.prepare<StoredCheckpoint>(`${checkpointSql} WHERE size = ?`);
  const progress = database.prepare<Omit<Progress, "checkpoint" | "isShared"> & { readonly chains: number }>(
    `SELECT (SELECT coalesce(max(seq) + 1, 0) FROM ledger_entries) AS size, min(place) AS first, max(place) AS last,
       (SELECT count(*) FROM (SELECT 1 FROM ledger_chains LIMIT 1) c) AS chains FROM ledger_intake`,
  );
  const later = database.prepare<StoredCheckpoint>(`${checkpointSql} WHERE size > ? ORDER BY size LIMIT ?`);
  return {
    get({ cid }) {
      const row = get.get(cid);
      return row && entryIn(row);
    },
    // No digit of a content id sorts as high as "g".
    find: ({ prefix, limit }) => find.all(prefix, `${prefix}g`, limit).map(entryIn),
    sessions: ({ limit }) => readSessions(sessions, limit),
    range(range: EntryRange) {
      const { sql, parameters } = rangeSql(range);
      return ranged(sql).all(parameters).map(entryIn);
    },
    size: () => tree.stored,
    meta: ({ name }) => new Meta(database).get(name),
    checkpoint: ({ size }) => (size === undefined ? newest.get() : ofSize.get(size)),
    checkpoints: ({ after, limit }) => later.all(after, limit),
    progress() {
      const { size = 0, first = null, last = null, chains = 0 } = progress.get() ?? {};
      return { size, first, last, isShared: chains > 0, checkpoint: newest.get() };
    },
    inclusion: ({ seq, size }) => inclusionProof(seq, size, nodesOf(size)),
    consistency: ({ earlier, size }) => consistencyProof(earlier, size, nodesOf(size)),
  };
}
