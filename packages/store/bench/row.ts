/** What is written: the shape of a ledger's entry, about half a kilobyte. */
export interface Row {
  readonly seq: number;
  readonly cid: string;
  readonly entity: string;
  readonly body: string;
}

/** The table and its indexes, the same for every contestant. */
export const SCHEMA = `CREATE TABLE rows (
     seq INTEGER PRIMARY KEY,
     cid TEXT NOT NULL UNIQUE,
     entity TEXT NOT NULL,
     body TEXT NOT NULL
   ) STRICT;
   CREATE INDEX rows_by_entity ON rows (entity, seq)`;

/** Writes one row. */
export const INSERT = "INSERT INTO rows (seq, cid, entity, body) VALUES (?, ?, ?, ?)";

/** The row at a place. Neighbouring rows lie far apart in the index, as hashes do. */
export function rowAt(seq: number): Row {
  const scattered = (Math.imul(seq, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");
  const body = `{"quality":"tool_call","payload":{"text":"${scattered.repeat(44)}"},"seq":${seq}}`;
  return { seq, cid: scattered.repeat(8), entity: `session-${seq % 97}`, body };
}
