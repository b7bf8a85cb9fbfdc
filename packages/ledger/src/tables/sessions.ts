import type { Statement } from "@reins/store";
import { SYSTEM } from "../entry/entry.ts";
import type { Sessions } from "./tables.ts";

/** Leaps through the index from session to session, so that it costs by their number, not by that of their entries. */
export const SESSIONS = `
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

/** Runs {@link SESSIONS}. */
export function readSessions(statement: Statement, limit: number): Sessions {
  const rows = statement.all(SYSTEM, Math.max(limit, 1)).flatMap((row) => asRow(row) ?? []);
  const recent = rows.map(({ entity_id, seq, timestamp }) => ({ entity_id, seq, timestamp }));
  return { count: rows[0]?.count ?? 0, recent: recent.slice(0, limit) };
}

function asRow(row: unknown) {
  if (typeof row !== "object" || row === null) return undefined;
  if (!("entity_id" in row && "seq" in row && "timestamp" in row && "count" in row)) return undefined;
  const { entity_id, seq, timestamp, count } = row;
  return {
    entity_id: String(entity_id),
    seq: Number(seq),
    timestamp: String(timestamp),
    count: Number(count),
  };
}
