import { randomUUID } from "node:crypto";
import type { Outcome, Write } from "../sqlite/threads.ts";
import type { BatchTransaction } from "../sqlite/writer.ts";
import type { StoreNode } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { type PostgresDatabase, PostgresFault } from "./postgres-database.ts";

/** How long a claim counts without being renewed, by the clock of the database, and how often it is renewed. */
const TERMS = { alone: { seconds: 10, renewMs: 3_000 }, shared: { seconds: 6, renewMs: 2_000 } } as const;

/** The name of a process that has the database to itself. */
const ALONE: StoreNode = { id: "", labels: {} };

interface NodeRow {
  readonly id: string;
  readonly owner: string;
  readonly epoch: number;
  readonly shared: number;
  readonly count: number;
  readonly expired: number;
}

/** The state of a claim in the database. */
export interface Claimed {
  readonly epoch: number;
  /** How many transactions of this node were kept, this process's and those of earlier ones. */
  readonly count: number;
}

/**
 * The right of one process to write to a database, with an epoch that grows with every claim: alone, or as one of several
 * nodes. Every transaction begins by naming its epoch (`store_fence`), and so holds the node's row until it ends: what an
 * epoch sends that has ended is refused by the database, and what ends it waits for a transaction that is under way. The
 * session holds a lock by the number of its epoch; the process that gets that lock knows that the session has ended, and
 * need not wait for the claim to expire.
 */
export class NodeClaim {
  readonly #database: PostgresDatabase;
  readonly #node: StoreNode;
  readonly #isShared: boolean;
  readonly #now: () => number;
  readonly #owner = randomUUID();
  readonly term: (typeof TERMS)["alone" | "shared"];
  #held: Claimed | undefined;
  /** When it was claimed last, by the clock of this process. */
  #since = 0;

  /** The clock does not jump when the machine's is set. */
  constructor(database: PostgresDatabase, node?: StoreNode, now = () => performance.now()) {
    this.#database = database;
    this.#now = now;
    this.#node = node ?? ALONE;
    this.#isShared = node !== undefined;
    this.term = node ? TERMS.shared : TERMS.alone;
  }

  /** Claims the database, again after a connection was lost: what the lost one may still send is refused from then on. */
  take(): Claimed {
    const database = this.#database;
    const { id, labels, capacity = null } = this.#node;
    database.exec("BEGIN");
    try {
      const state = stateOf(database);
      const rows = database
        .prepare<NodeRow>(
          `${NODES} WHERE id = ? OR (owner <> '' AND NOT (shared AND ?)) ORDER BY id FOR UPDATE`,
        )
        .all(id, this.#isShared ? 1 : 0);
      const own = rows.find((row) => row.id === id);
      const isOwn = own?.owner === this.#owner;
      if (this.#held && !isOwn) throw ended(this.#held.epoch);
      if (state.incomplete) throw new StoreError("invalid", INCOMPLETE);
      for (const row of rows) {
        if (row === own && isOwn) continue;
        if (isInUse(database, row))
          throw new StoreError("locked", row.shared && this.#isShared ? SAME_NODE : IN_USE);
        database.prepare("UPDATE store_nodes SET owner = '' WHERE id = ?").run(row.id);
      }
      const epoch = state.epoch + 1;
      database.prepare("UPDATE store_state SET epoch = ?").run(epoch);
      database
        .prepare(CLAIM)
        .run(
          id,
          this.#owner,
          epoch,
          this.#isShared ? 1 : 0,
          this.term.seconds,
          JSON.stringify(labels),
          capacity,
        );
      database.prepare(`SELECT pg_advisory_lock(${LOCK})`).get(epoch);
      database.commit();
      this.#held = { epoch, count: own?.count ?? 0 };
      this.#since = this.#now();
      return this.#held;
    } catch (error) {
      if (database.inTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Names the epoch at the beginning of a transaction, which is refused if that has ended. */
  fence(): void {
    this.#database
      .prepare("SELECT store_fence(?, ?, ?)")
      .run(this.#node.id, this.#held?.epoch ?? 0, this.term.seconds);
  }

  /** Renews the claim of a process that writes nothing, and ends those of nodes that stopped doing so. */
  renew(): void {
    const { epoch = 0 } = this.#held ?? {};
    const { id } = this.#node;
    const renewed = this.#database.prepare(RENEW).run(this.term.seconds, id, epoch);
    if (renewed.changes === 0) throw ended(epoch);
    // After an outage of the database the others get as long to come back as a claim counts.
    if (this.#isShared && this.#now() - this.#since > this.term.seconds * 1_000) {
      this.#database.prepare(END_EXPIRED).run(id);
      // Sent now, and not with the next transaction.
      this.#database.settle();
    }
  }

  /** Lets the next process write at once. */
  release(): void {
    this.#database
      .prepare("UPDATE store_nodes SET owner = '', expires = clock_timestamp() WHERE id = ? AND epoch = ?")
      .run(this.#node.id, this.#held?.epoch ?? 0);
    this.#database.settle();
  }
}

/** Keeps all processes from writing until the transaction that is open ends; refuses while one may write. */
export function excludeWriters(database: PostgresDatabase): void {
  if (stateOf(database).incomplete) throw new StoreError("invalid", INCOMPLETE);
  const rows = database.prepare<NodeRow>(`${NODES} WHERE owner <> '' ORDER BY id FOR UPDATE`).all();
  if (rows.some((row) => isInUse(database, row))) throw new StoreError("locked", IN_USE);
}

const NODES =
  "SELECT id, owner, epoch, shared, count, expires <= clock_timestamp() AS expired FROM store_nodes";
const CLAIM = `INSERT INTO store_nodes (id, owner, epoch, shared, count, since, expires, labels, capacity)
  VALUES (?, ?, ?, ?, 0, clock_timestamp(), clock_timestamp() + make_interval(secs => ?), ?, ?)
  ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, shared = excluded.shared,
    since = excluded.since, expires = excluded.expires, labels = excluded.labels, capacity = excluded.capacity`;
const RENEW = `UPDATE store_nodes SET expires = clock_timestamp() + make_interval(secs => ?)
  WHERE id = ? AND epoch = ? AND owner <> ''`;
/** A node that is in a transaction is left alone: the database ends that first, if it has stopped. */
const END_EXPIRED = `UPDATE store_nodes SET owner = '' WHERE id IN (SELECT id FROM store_nodes
  WHERE id <> ? AND owner <> '' AND expires <= clock_timestamp() FOR UPDATE SKIP LOCKED)`;

/** Two databases of one server share no locks, two schemas of a database do. */
const LOCK = "hashtext('reins ' || current_schema()), ?::integer";
const IN_USE = "in use by another server; stop it first, or wait until its claim has expired";
const SAME_NODE =
  "another server is this node; give each a name of its own, or wait until its claim has expired";
const INCOMPLETE = "a copy into this database was not completed; drop its schema and copy again";

/** Locks the state, so that claims are made one after another. */
function stateOf(database: PostgresDatabase): { readonly epoch: number; readonly incomplete: number } {
  const state = database
    .prepare<{ epoch: number; incomplete: number }>("SELECT epoch, incomplete FROM store_state FOR UPDATE")
    .get();
  if (!state) throw new StoreError("corrupt", "the state of the database is missing; restore a backup");
  return state;
}

function isInUse(database: PostgresDatabase, { owner, epoch, expired }: NodeRow): boolean {
  if (owner === "" || expired) return false;
  const lock = database.prepare<{ got: number }>(`SELECT pg_try_advisory_xact_lock(${LOCK}) AS got`);
  return lock.get(epoch)?.got !== 1;
}

function ended(epoch: number): PostgresFault {
  return new PostgresFault({ code: "RN001", message: `the claim of epoch ${epoch} has ended`, lost: false });
}

/** Commits of which the connection was lost before it showed whether they were kept. */
export interface Unresolved {
  readonly outcomes: readonly Outcome[];
  /** How many transactions there are if they were. */
  readonly count: number;
}

interface TransactionOptions {
  /** How many transactions were kept before. */
  readonly count: number;
  /** The changes of which other processes are notified, by their tables. */
  readonly announced: ReadonlyMap<string, readonly string[]>;
  readonly onKept: (count: number) => void;
}

/** The transaction of a batch. All of them are durable: a database that crashes takes back what this process knows. */
export class PostgresTransaction implements BatchTransaction {
  readonly #database: PostgresDatabase;
  readonly #claim: NodeClaim;
  readonly #announced: TransactionOptions["announced"];
  readonly #onKept: (count: number) => void;
  #count: number;
  #unresolved: Unresolved | undefined;

  constructor(
    database: PostgresDatabase,
    claim: NodeClaim,
    { count, announced, onKept }: TransactionOptions,
  ) {
    this.#database = database;
    this.#claim = claim;
    this.#count = count;
    this.#announced = announced;
    this.#onKept = onKept;
  }

  get unresolved(): Unresolved | undefined {
    return this.#unresolved;
  }

  begin(): void {
    this.#database.begin();
    this.#claim.fence();
  }

  reserve(changes: Write["changes"], locked: readonly string[]): void {
    const lock = this.#database.prepare(
      "SELECT pg_advisory_xact_lock(hashtextextended('reins ' || current_schema() || '.' || ?, 0))",
    );
    // In one order, so that no two processes wait for each other.
    for (const name of locked.toSorted()) lock.run(name);
    // Sent when the transaction is kept.
    const notify = this.#database.prepare("SELECT pg_notify('reins ' || current_schema(), ?)");
    const told = changes.filter(({ tables, name }) => this.#announced.get(tables)?.includes(name));
    for (const tables of new Set(told.map((one) => one.tables))) notify.run(tables);
  }

  mayRepeat(fault: StoreError): boolean {
    return fault instanceof PostgresFault && /^40/.test(fault.state);
  }

  commit(outcomes: readonly Outcome[] = []): void {
    const { inTransaction } = this.#database;
    try {
      this.#database.commit();
    } catch (error) {
      // Lost before COMMIT was sent, nothing is kept; afterwards only the database knows.
      if (inTransaction && this.#database.isLost) this.#unresolved = { outcomes, count: this.#count + 1 };
      throw error;
    }
    this.#count += 1;
    this.#onKept(this.#count);
  }

  undo(): void {
    if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
  }

  mark(): void {
    this.#database.prepare("SAVEPOINT one_commit").run();
  }

  keep(): void {
    this.#database.prepare("RELEASE SAVEPOINT one_commit").run();
    // What fails is this commit's.
    this.#database.settle();
  }

  takeBack(): void {
    this.#database.prepare("ROLLBACK TO SAVEPOINT one_commit").run();
    this.keep();
  }

  expect(): void {}

  raised(fault: StoreError): boolean {
    return fault instanceof PostgresFault;
  }
}
