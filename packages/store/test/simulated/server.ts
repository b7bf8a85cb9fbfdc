import { MessageChannel } from "node:worker_threads";
import SqliteDatabase from "better-sqlite3";
import type { LinkEnd } from "../../src/postgres/messages.ts";
import { PostgresDatabase, PostgresFault } from "../../src/postgres/postgres-database.ts";
import type { Statement } from "../../src/store.ts";

/** What the simulated database did, by kind of statement. */
export type Work = Map<string, number>;

export interface SimulatedServerOptions {
  /** The clock of the database, in milliseconds. */
  readonly now: () => number;
  /** Changes a statement, so that a test can leave out a rule. */
  readonly rewrite?: ((sql: string) => string) | undefined;
}

/**
 * Does what PostgreSQL does for the statements of several nodes, in SQLite in memory, one transaction after another and
 * by a clock of its own. Sessions hold the locks that tell whether a process has ended.
 */
export class SimulatedServer {
  readonly database = new SqliteDatabase(":memory:");
  /** Whether it answers; its sessions end when it does not. */
  isUp = true;
  readonly work: Work = new Map();
  readonly #options: SimulatedServerOptions;
  readonly #statements = new Map<string, Prepared>();
  readonly #sessions = new Set<SimulatedConnection>();
  readonly #listeners = new Map<SimulatedConnection, (changed: string) => void>();
  /** The session whose statement runs. */
  #current: SimulatedConnection | undefined;
  #notified: string[] = [];

  constructor(options: SimulatedServerOptions) {
    this.#options = options;
    const { database } = this;
    database.pragma("journal_mode = MEMORY");
    database.pragma("synchronous = OFF");
    const add = (name: string, run: (...args: never[]) => unknown) =>
      void database.function(name, { deterministic: false }, run as (...args: unknown[]) => unknown);
    add("clock_timestamp", () => Math.floor(options.now()));
    add("take_lock", (epoch: number) => {
      if (!this.#current) return 0;
      this.#current.locks.add(epoch);
      this.#current.epoch = epoch;
      return 1;
    });
    add("lock_is_free", (epoch: number) => (this.#isHeld(epoch) ? 0 : 1));
    add("notify", (name: string) => this.#notified.push(name));
  }

  /** A connection, not yet made; `onNotice` gets what other sessions changed. */
  connection(onNotice?: (changed: string) => void): SimulatedConnection {
    const connection = new SimulatedConnection(this);
    if (onNotice) this.#listeners.set(connection, onNotice);
    return connection;
  }

  /** Stops, with what was committed, or goes on. */
  setUp(isUp: boolean): void {
    this.isUp = isUp;
    if (!isUp) for (const session of [...this.#sessions]) session.lose();
  }

  begun(session: SimulatedConnection): void {
    this.#sessions.add(session);
  }

  ended(session: SimulatedConnection): void {
    this.#sessions.delete(session);
  }

  /** Runs part of a transaction of a session. */
  as<Result>(session: SimulatedConnection, run: () => Result): Result {
    this.#current = session;
    try {
      return run();
    } catch (error) {
      throw faultOf(error);
    } finally {
      this.#current = undefined;
    }
  }

  count(kind: string, many = 1): void {
    this.work.set(kind, (this.work.get(kind) ?? 0) + many);
  }

  /** Sends what a committed transaction notifies of; a session gets its own, too. */
  deliver(): void {
    const names = new Set(this.#notified);
    this.#notified = [];
    for (const name of names)
      for (const [session, listener] of this.#listeners)
        if (!session.isLost) {
          this.count("notices");
          listener(name);
        }
  }

  /** Forgets them, because the transaction was undone. */
  discard(): void {
    this.#notified = [];
  }

  prepare(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known) return known;
    const rewritten = this.#options.rewrite?.(sql) ?? sql;
    const prepared = this.#compile(rewritten);
    this.#statements.set(sql, prepared);
    return prepared;
  }

  exec(sql: string): void {
    if (/^\s*CREATE OR REPLACE FUNCTION|^\s*CREATE SCHEMA/.test(sql)) return;
    this.database.exec(inSqlite(sql));
  }

  #compile(sql: string): Prepared {
    const fenced = /^SELECT (store_fence\w*)\(\?, \?, \?\)$/.exec(sql);
    if (fenced) return this.#fence(fenced[1] === "store_fence");
    const { database } = this;
    const both = /^\s*WITH \w+ AS \((UPDATE [^)]*)\)\s*(INSERT [\s\S]*)$/.exec(sql);
    const statements = (both ? both.slice(1) : [sql]).map((one) =>
      database.prepare<unknown[]>(inSqlite(one)),
    );
    const last = statements.at(-1);
    const kind = kindOf(sql);
    const before = (parameters: readonly unknown[]) => {
      for (const one of statements.slice(0, -1)) one.run(...parameters);
    };
    return {
      kind,
      run(parameters) {
        before(parameters);
        if (!last?.reader) return last?.run(...parameters).changes ?? 0;
        return last.all(...parameters).length;
      },
      all(parameters) {
        before(parameters);
        if (last?.reader) return last.all(...parameters);
        last?.run(...parameters);
        return [];
      },
    };
  }

  /** The function of that name. */
  #fence(isChecked: boolean): Prepared {
    const raise = this.database.prepare<unknown[]>(
      `UPDATE store_nodes SET count = count + 1, expires = clock_timestamp() + @seconds * 1000
       WHERE id = @node ${isChecked ? "AND epoch = @claimed AND owner <> ''" : ""}`,
    );
    const run = ([node, claimed, seconds]: readonly unknown[]): number => {
      const { changes } = raise.run({ node, seconds, ...(isChecked && { claimed }) });
      if (changes > 0) return 1;
      throw new PostgresFault({ code: "RN001", message: `epoch ${claimed} has ended`, lost: false });
    };
    return { kind: "fence", run, all: (parameters) => (run(parameters) > 0 ? [{}] : []) };
  }

  /** Whether another session holds a lock: its own is no hindrance to one. */
  #isHeld(epoch: number): boolean {
    for (const session of this.#sessions)
      if (session !== this.#current && session.locks.has(epoch)) return true;
    return false;
  }
}

interface Prepared {
  readonly kind: string;
  run(parameters: readonly unknown[]): number;
  all(parameters: readonly unknown[]): unknown[];
}

const LOST = { code: "", message: "there is no connection", lost: true } as const;
const { port1: NO_PORT } = new MessageChannel();
const NO_LINK: LinkEnd = { port: NO_PORT, signal: new Int32Array(new SharedArrayBuffer(8)) };

/** A session of a {@link SimulatedServer}, in the place of a connection to PostgreSQL. */
export class SimulatedConnection extends PostgresDatabase {
  /** The numbers of the epochs whose locks it holds. */
  readonly locks = new Set<number>();
  /** The epoch under which it writes. */
  epoch = 0;
  /** Whether the network connects it. */
  isReachable = true;
  /** What happens to the connection at the end of the next transaction. */
  fails: "before" | "after" | undefined;
  /** Whether the last transaction was kept. */
  wasKept = false;
  readonly #server: SimulatedServer;
  #lost = true;
  #begun = false;

  constructor(server: SimulatedServer) {
    super(NO_LINK, { isShared: true });
    this.#server = server;
  }

  override get isLost(): boolean {
    return this.#lost;
  }

  override get inTransaction(): boolean {
    return this.#begun && !this.#lost;
  }

  override async connect(): Promise<void> {
    this.lose();
    if (!this.#server.isUp || !this.isReachable) throw new PostgresFault(LOST);
    this.#lost = false;
    this.fails = undefined;
    this.#server.begun(this);
  }

  override async end(): Promise<void> {
    this.lose();
  }

  override close(): void {
    this.lose();
  }

  /** Ends the session, with what it had begun; its locks may stay for as long as the server does not notice. */
  lose({ isNoticed = true } = {}): void {
    if (!this.#lost && this.#begun) this.#undo();
    this.#lost = true;
    this.#begun = false;
    if (!isNoticed) return;
    this.locks.clear();
    this.#server.ended(this);
  }

  override prepare<Row = unknown>(sql: string): Statement<Row> {
    const prepared = this.#server.prepare(sql);
    const { kind } = prepared;
    const counted = (rows: unknown[]): Row[] => {
      if (kind.endsWith("nodes")) this.#server.count(`rows of ${kind}`, rows.length);
      return rows as Row[];
    };
    const within = <Result>(run: () => Result): Result => {
      if (this.#lost) throw new PostgresFault(LOST);
      this.#server.count(kind);
      return this.#server.as(this, run);
    };
    return {
      run: (...parameters) => ({ changes: within(() => prepared.run(parameters)) }),
      get: (...parameters) => within(() => counted(prepared.all(parameters)))[0],
      all: (...parameters) => within(() => counted(prepared.all(parameters))),
    };
  }

  override exec(sql: string): void {
    if (/^\s*BEGIN\b/.test(sql)) this.begin();
    else if (/^\s*COMMIT\b/.test(sql)) this.commit();
    else if (this.#lost) throw new PostgresFault(LOST);
    else if (/^\s*ROLLBACK\b/.test(sql)) this.#undo();
    else this.#server.as(this, () => this.#server.exec(sql));
  }

  override run(sql: string): void {
    this.exec(sql);
  }

  /** What only reads sees one state anyway. */
  override begin(mode = ""): void {
    if (this.#lost) throw new PostgresFault(LOST);
    this.#begun = true;
    if (mode === "") this.#server.exec("BEGIN");
  }

  override commit(): void {
    const { fails } = this;
    this.wasKept = false;
    if (this.#lost) throw new PostgresFault(LOST);
    if (fails === "before") {
      this.lose();
      throw new PostgresFault(LOST);
    }
    this.#server.exec("COMMIT");
    this.#begun = false;
    this.wasKept = true;
    this.#server.count("commits");
    this.#server.deliver();
    if (fails !== "after") return;
    this.lose();
    throw new PostgresFault(LOST);
  }

  override release(): void {
    this.#begun = false;
  }

  override settle(): void {}

  override flush(): void {}

  #undo(): void {
    if (this.#server.database.inTransaction) this.#server.exec("ROLLBACK");
    this.#server.discard();
    this.#begun = false;
  }
}

/** PostgreSQL's own words in our statements, as SQLite or the functions above have them. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bFOR (UPDATE|SHARE)( SKIP LOCKED)?\b/g, ""],
  [/floor\(extract\(epoch FROM ([\w.]+(?:\(\))?)\) \* 1000\)::bigint/g, "$1"],
  [/make_interval\(secs => (\?)\)/g, "($1 * 1000)"],
  [/pg_try_advisory_xact_lock\(hashtext\([^)]*\(\)\), ([^):]+)(?:::integer)?\)/g, "lock_is_free($1)"],
  [/pg_advisory_lock\(hashtext\([^)]*\(\)\), ([^):]+)(?:::integer)?\)/g, "take_lock($1)"],
  [/pg_advisory_xact_lock\([\s\S]*$/g, "?"],
  [/pg_notify\([^)]*\(\), (\?)\)/g, "notify($1)"],
  [/pg_tables WHERE schemaname = current_schema\(\) AND tablename =/g, "sqlite_schema WHERE name ="],
  [/SELECT 1 FROM pg_namespace WHERE nspname = \?/g, "SELECT 1 WHERE ? <> ''"],
  [/gen_random_uuid\(\)::text/g, "'simulated'"],
  [/\b(boolean|timestamptz|bigint)\b/g, "INTEGER"],
  [/COLLATE "C"/g, ""],
  [/WITH \(fillfactor = \d+\)/g, ""],
];

function inSqlite(sql: string): string {
  return WORDS.reduce((text, [pattern, words]) => text.replace(pattern, words), sql);
}

/** What a statement is for, where the load of nodes is counted. */
function kindOf(sql: string): string {
  if (/^UPDATE store_nodes SET expires/.test(sql)) return "heartbeats";
  if (/^UPDATE store_nodes SET owner = '' WHERE id IN/.test(sql)) return "looks for expired claims";
  if (/WHERE n.epoch > \?/.test(sql)) return "looks at nodes";
  if (/ORDER BY s.load, s.node/.test(sql)) return "choices of nodes";
  if (/FROM store_nodes n LEFT JOIN node_states/.test(sql)) return "lists of nodes";
  if (/^SELECT o.tenant, o.node/.test(sql)) return "looks for an owner";
  if (/tenant_owners/.test(sql) && /^(INSERT|DELETE)/.test(sql)) return "changes of owners";
  if (/min\(place\)/.test(sql)) return "looks of sequencers";
  return "other statements";
}

function faultOf(error: unknown): unknown {
  if (!(error instanceof SqliteDatabase.SqliteError)) return error;
  const code = /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY|ROWID|FOREIGNKEY|TRIGGER)/.test(error.code)
    ? "23505"
    : "22000";
  return new PostgresFault({ code, message: error.message, lost: false });
}
