import type { Database, Statement } from "@reins/store";
import { LedgerError } from "../ledger-error.ts";
import { consistencyProof } from "../tree/consistency.ts";
import { inclusionProof } from "../tree/inclusion.ts";
import type { NodeSource } from "../tree/nodes.ts";
import { entryPacker } from "./entry-packer.ts";
import { type EntryRange, rangeSql } from "./filter.ts";
import { Meta } from "./meta.ts";
import { readSessions, SESSIONS } from "./sessions.ts";
import { StoredTree } from "./shelf.ts";
import type { LedgerQueries, StoredCheckpoint, StoredEntry } from "./tables.ts";

/** Prepares the ledger's queries on an open database. */
export function openQueries(database: Database): LedgerQueries {
  const prepared = new Map<string, Statement>();
  const statement = (sql: string): Statement => {
    const known = prepared.get(sql) ?? database.prepare(sql);
    prepared.set(sql, known);
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
  const checkpointSql = "SELECT size, note FROM ledger_checkpoints";
  return {
    get: ({ cid }) =>
      asEntry(statement("SELECT seq, cid, body, packed FROM ledger_entries WHERE cid = ?").get(cid)),
    find: ({ prefix, limit }) =>
      // No digit of a content id sorts as high as "g".
      statement(
        "SELECT seq, cid, body, packed FROM ledger_entries WHERE cid >= ? AND cid < ? ORDER BY cid LIMIT ?",
      )
        .all(prefix, `${prefix}g`, limit)
        .flatMap((row) => asEntry(row) ?? []),
    sessions: ({ limit }) => readSessions(statement(SESSIONS), limit),
    range(range: EntryRange) {
      const { sql, parameters } = rangeSql(range);
      return statement(sql)
        .all(parameters)
        .flatMap((row) => asEntry(row) ?? []);
    },
    size: () => tree.stored,
    meta: ({ name }) => new Meta(database).get(name),
    checkpoint: ({ size }) =>
      size === undefined
        ? asCheckpoint(statement(`${checkpointSql} ORDER BY size DESC LIMIT 1`).get())
        : asCheckpoint(statement(`${checkpointSql} WHERE size = ?`).get(size)),
    checkpoints: ({ after, limit }) =>
      statement(`${checkpointSql} WHERE size > ? ORDER BY size LIMIT ?`)
        .all(after, limit)
        .flatMap((row) => asCheckpoint(row) ?? []),
    inclusion: ({ seq, size }) => inclusionProof(seq, size, nodesOf(size)),
    consistency: ({ earlier, size }) => consistencyProof(earlier, size, nodesOf(size)),
  };
}

function asEntry(row: unknown): StoredEntry | undefined {
  if (typeof row !== "object" || row === null || !("seq" in row && "cid" in row && "body" in row))
    return undefined;
  const packed = "packed" in row && row.packed instanceof Uint8Array ? row.packed : undefined;
  const body = packed ? entryPacker.unpack(packed) : String(row.body);
  return { seq: Number(row.seq), cid: String(row.cid), body };
}

function asCheckpoint(row: unknown): StoredCheckpoint | undefined {
  if (typeof row !== "object" || row === null || !("size" in row && "note" in row)) return undefined;
  return { size: Number(row.size), note: String(row.note) };
}
