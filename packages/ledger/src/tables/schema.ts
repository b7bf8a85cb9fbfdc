import { ENTRY_SAMPLE } from "./entry-packer.ts";

/** The ledger's tables, as `docs/ledger-format.md` describes them for readers. */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE ledger_entries (
     seq INTEGER PRIMARY KEY,
     cid TEXT NOT NULL UNIQUE,
     entity_id TEXT NOT NULL,
     quality TEXT NOT NULL,
     actor TEXT NOT NULL,
     timestamp TEXT NOT NULL,
     body TEXT NOT NULL
   ) STRICT;
   CREATE INDEX ledger_by_entity ON ledger_entries (entity_id, seq);
   CREATE INDEX ledger_by_quality ON ledger_entries (quality, seq);
   CREATE INDEX ledger_by_actor ON ledger_entries (actor, seq);
   CREATE INDEX ledger_by_timestamp ON ledger_entries (timestamp, seq);
   CREATE TABLE ledger_tags (tag TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (tag, seq)) STRICT, WITHOUT ROWID;
   CREATE TABLE ledger_tiles (height INTEGER NOT NULL, tile INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (height, tile)) STRICT;
   CREATE TABLE ledger_checkpoints (size INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT;
   CREATE TABLE ledger_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT`,
  // What entries are found by, tags too, is written for many of them at once from here on.
  `CREATE TABLE ledger_index (
     seq INTEGER PRIMARY KEY,
     quality TEXT NOT NULL,
     actor TEXT NOT NULL,
     timestamp TEXT NOT NULL
   ) STRICT;
   INSERT INTO ledger_index (seq, quality, actor, timestamp) SELECT seq, quality, actor, timestamp FROM ledger_entries;
   DROP INDEX ledger_by_quality;
   DROP INDEX ledger_by_actor;
   DROP INDEX ledger_by_timestamp;
   CREATE INDEX ledger_by_quality ON ledger_index (quality);
   CREATE INDEX ledger_by_actor ON ledger_index (actor)`,
  // From here on the body of an entry is in `packed`, and `body` is empty; what the index does not know yet is, as it is,
  // in a table that stays small.
  `ALTER TABLE ledger_entries ADD COLUMN packed BLOB;
   INSERT INTO ledger_meta (name, value) VALUES ('sample_1', '${ENTRY_SAMPLE.replaceAll("'", "''")}');
   CREATE TABLE ledger_recent (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
   INSERT INTO ledger_recent (seq, body) SELECT seq, body FROM ledger_entries
   WHERE seq > (SELECT coalesce(max(seq), -1) FROM ledger_index)`,
];
