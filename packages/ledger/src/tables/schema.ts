import type { KeyObject } from "node:crypto";
import { type Database, type Statement, TextPacker } from "@reins/store";
import { readCheckpoint, signCheckpoint } from "../checkpoint.ts";
import { LedgerError } from "../ledger-error.ts";
import { rootOf, type Tiles } from "../tree.ts";
import type { StoredCheckpoint } from "./tables.ts";

/** Part of a reason as rules gave it once: the sample below stays as it is, byte for byte. */
const LETS = "lets it";

/**
 * What entries look like, the most frequent last. It is written into every database, as `sample_1`, for those who read it
 * without us: never change it, add another.
 */
const ENTRY_SAMPLE = [
  '{"actor":"reins:system","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"event":"server_start","version":"0.1.0"},"proof":null,"quality":"session_lifecycle","source":"native:acp:","tags":["server"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  '{"actor":"native","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"change":"session_end","reason":"","subject":{"agent":"native","chain":[],"depth":0,"enforcement":"performed","mode":"default","roles":["admin"],"scopes":["*"],"session":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","session_key":"native:acp:","started":"interactive","tenant":"default","trust":"registered","user":"operator"}},"proof":null,"quality":"session_lifecycle","source":"native:acp:","tags":["session_end"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  '{"actor":"native","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"additional_directories":[],"agent_session_id":"","change":"session_start","cwd":"/home/","session_id":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","subject":{"agent":"native","chain":[],"depth":0,"enforcement":"performed","mode":"default","roles":["admin"],"scopes":["*"],"session":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","session_key":"native:acp:","started":"interactive","tenant":"default","trust":"registered","user":"operator"}},"proof":null,"quality":"session_lifecycle","source":"native:acp:","tags":["session_start"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  '{"actor":"native","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"at":17,"constitution_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","counters":{},"enforcement":"performed","event_type":"tool_gate","facts":null,"reason":"it reads, edits or runs something harmless in the workspace","rule":"work_in_the_workspace","rules_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","trust":"registered","verdict":"allowed"},"proof":null,"quality":"policy_verdict","source":"native:acp:","tags":["tool_gate","allowed"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  `{"actor":"reins:system","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"agent":"native","approval":"apr_","binding":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","chain":[],"enforcement":"asked","event_type":"pre_action","expires_at":"2026-02-04T09:00:00.000Z","facts_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","options":["allow_once","allow_always","deny"],"quorum":1,"reason":"no rule ${LETS} pass by itself","rule":"everything_else_is_asked_about","session":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","state":"pending","tenant":"default","tool":"run_command","turn":"","user":"operator"},"proof":{"key_id":"","predicate_results":[],"rules_checked":[],"signature":"==","type":"attestation"},"quality":"approval","source":"native:acp:","tags":["approval","approval:apr_"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}`,
  '{"actor":"operator","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"answer":"allow_once","answers":[{"answer":"allow_once","at":"2026-02-04T09:00:00.000Z","by":"operator","principal":"","user":"operator"}],"approval":"apr_","binding":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","reason":"","state":"approved","tenant":"default"},"proof":{"key_id":"","predicate_results":[],"rules_checked":[],"signature":"==","type":"attestation"},"quality":"approval","source":"native:acp:","tags":["approval","approval:apr_"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  `{"actor":"native","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"approval":"apr_","at":17,"constitution_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","counters":{},"enforcement":"performed","event_type":"pre_action","facts":{"arguments":{},"claims":{"kind":"execute","title":""},"doubts":["npm runs what the project's scripts say"],"effects":[{"arguments":[""],"command":"","kind":"exec","opaque":true}],"opaque":true,"tool":"run_command"},"payload_commitment":"hmac-sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","reason":"no rule ${LETS} pass by itself","rule":"everything_else_is_asked_about","rules_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","subject":{"agent":"native","chain":[],"depth":0,"enforcement":"performed","mode":"default","roles":["admin"],"scopes":["*"],"session":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","session_key":"native:acp:","started":"interactive","tenant":"default","trust":"registered","user":"operator"},"verdict":"ask"},"proof":null,"quality":"policy_verdict","source":"native:acp:","tags":["verdict","ask","approval:apr_"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}`,
  '{"actor":"native","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"arguments":{},"call":"","claims":{"kind":"search","title":""},"tool":"list_files","verdict":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},"proof":null,"quality":"tool_call","source":"native:acp:","tags":["call:"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  '{"actor":"native","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"enforcement":"performed","outcome":"completed","tool":"read_file","verdict":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},"proof":null,"quality":"tool_result","source":"native:acp:","tags":["completed"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  '{"actor":"native","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"at":17,"constitution_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","counters":{},"enforcement":"performed","event_type":"pre_action","facts":{"arguments":{},"claims":{"kind":"read","title":""},"doubts":[],"effects":[{"deep":true,"inside":"","kind":"read","path":"/home/","place":"workspace"}],"opaque":false,"tool":"read_file"},"payload_commitment":"hmac-sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","reason":"it reads, edits or runs something harmless in the workspace","rule":"work_in_the_workspace","rules_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","subject":{"agent":"native","chain":[],"depth":0,"enforcement":"performed","mode":"default","roles":["admin"],"scopes":["*"],"session":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","session_key":"native:acp:","started":"interactive","tenant":"default","trust":"registered","user":"operator"},"verdict":"allowed"},"proof":null,"quality":"policy_verdict","source":"native:acp:","tags":["verdict","allowed"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  '{"actor":"native","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"at":17,"constitution_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","counters":{},"enforcement":"performed","event_type":"pre_prompt","facts":{"arguments":{},"claims":{},"doubts":[],"effects":[],"opaque":false,"tool":""},"payload_commitment":"hmac-sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","reason":"beginning a session and asking a model change nothing by themselves","rule":"sessions_begin_and_prompts_pass","rules_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","subject":{"agent":"native","chain":[],"depth":0,"enforcement":"performed","mode":"default","roles":["admin"],"scopes":["*"],"session":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","session_key":"native:acp:","started":"interactive","tenant":"default","trust":"registered","user":"operator"},"verdict":"allowed"},"proof":null,"quality":"policy_verdict","source":"native:acp:","tags":["verdict","allowed"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  '{"actor":"native","entity_id":"native:acp:","envelope":null,"parents":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"payload":{"actor":"native","completed_at":"2026-02-04T09:00:00.000Z","entries":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"inputs_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","outputs_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","started_at":"2026-02-04T09:00:00.000Z","stop_reason":"end_turn","timestamp":"2026-02-04T09:00:00.000Z","turn":"","usage":{"input_tokens":,"output_tokens":,"tokens":,"total_tokens":}},"proof":{"key_id":"","predicate_results":[],"rules_checked":[],"signature":"==","type":"attestation"},"quality":"turn","source":"native:acp:","tags":["turn:","end_turn"],"target":"","timestamp":"2026-02-04T09:00:00.000Z"}',
].join("\n");

/** The canonical form of entries in less room. */
export const entryPacker = new TextPacker(1, ENTRY_SAMPLE);

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
  // Where several nodes write, entries wait here for their places, each chain has a row with its ends, and
  // each key that one of them announced has one, too.
  `CREATE TABLE ledger_intake (
     place INTEGER PRIMARY KEY AUTOINCREMENT,
     cid TEXT NOT NULL UNIQUE,
     entity_id TEXT NOT NULL,
     quality TEXT NOT NULL,
     actor TEXT NOT NULL,
     timestamp TEXT NOT NULL,
     packed BLOB NOT NULL,
     excerpt TEXT NOT NULL
   ) STRICT;
   CREATE TABLE ledger_chains (entity_id TEXT PRIMARY KEY, last TEXT, turn TEXT) STRICT;
   CREATE TABLE ledger_keys (key_id TEXT PRIMARY KEY) STRICT`,
];

/** What the ledger knows about itself: `origin`, `log_key`, `mirror`. */
export class Meta {
  readonly #read: Statement<{ readonly value: string }>;
  readonly #write: Statement;

  constructor(database: Database) {
    this.#read = database.prepare("SELECT value FROM ledger_meta WHERE name = ?");
    this.#write = database.prepare(
      "INSERT INTO ledger_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    );
  }

  /** The value of a name. */
  get(name: string): string | undefined {
    return this.#read.get(name)?.value;
  }

  /** Sets values; the others stay. */
  set(values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values)) this.#write.run(name, value);
  }
}

/** Makes the checkpoints of a ledger. */
export class Checkpoints {
  readonly #tiles: Tiles;
  readonly #meta: Meta;
  readonly #find: Statement;
  readonly #insert: Statement;

  constructor(database: Database, tiles: Tiles) {
    this.#tiles = tiles;
    this.#meta = new Meta(database);
    this.#find = database.prepare("SELECT size FROM ledger_checkpoints WHERE size = ?");
    this.#insert = database.prepare("INSERT INTO ledger_checkpoints (size, note) VALUES (?, ?)");
  }

  /** Makes one of everything written, unless the last one covers it already. */
  make(privateKey: KeyObject): string | undefined {
    const { size } = this.#tiles;
    const origin = this.#meta.get("origin");
    if (size === 0 || origin === undefined || this.#find.get(size)) return undefined;
    const note = signCheckpoint({ origin, size, root: this.#rootOf(size) }, privateKey);
    this.#insert.run(size, note);
    return note;
  }

  /** Keeps one that was made elsewhere, if it is of these very entries. */
  keep({ size, note }: StoredCheckpoint): void {
    if (size > this.#tiles.size || Buffer.compare(this.#rootOf(size), readCheckpoint(note).root) !== 0) {
      const text = `the first ${size} entries are not those that the checkpoint behind them was made of`;
      throw new LedgerError("corrupt", text);
    }
    if (!this.#find.get(size)) this.#insert.run(size, note);
  }

  #rootOf(size: number): Uint8Array {
    return rootOf(size, (level, index) => this.#tiles.node(level, index));
  }
}
