import { randomUUID } from "node:crypto";
import type { Outcome } from "../sqlite/threads.ts";
import type { BatchTransaction } from "../sqlite/writer.ts";
import { StoreError } from "../store-error.ts";
import { type PostgresDatabase, PostgresFault } from "./postgres-database.ts";

/** How long a claim counts without being renewed, by the clock of the database; and how often it is. */
const LEASE_SECONDS = 10;
export const RENEW_MS = 3_000;

interface WriterRow {
  readonly epoch: number;
  readonly owner: string;
  readonly count: number;
  readonly expired: number;
  readonly incomplete: number;
}

/** The state of the writer in the database, and what is its own. */
export interface Claimed {
  readonly epoch: number;
  /** How many transactions were kept. */
  readonly count: number;
}

/**
 * The right of one process to write to a database, with an epoch that grows with every claim. Every transaction begins
 * by naming its epoch (`store_fence`), and so holds the row until it ends: what an older epoch sends is refused by the
 * database, and a claim waits for a transaction that is under way. The session holds a lock by the number of its epoch;
 * the process that gets that lock knows that the session has ended, and need not wait for the claim to expire.
 */
export class WriterClaim {
  readonly #database: PostgresDatabase;
  readonly #owner = randomUUID();
  #held: Claimed | undefined;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  get epoch(): number {
    return this.#held?.epoch ?? 0;
  }

  /** Claims the database, again after a connection was lost: what the lost one may still send is refused from then on. */
  take(): Claimed {
    const database = this.#database;
    database.exec("BEGIN");
    try {
      const row = this.#read();
      const isOwn = row.owner === this.#owner;
      if (this.#held && !isOwn) throw overtaken(row.epoch);
      if (row.incomplete) throw new StoreError("invalid", INCOMPLETE);
      if (!isOwn && row.owner !== "" && !row.expired && !this.#isAbandoned(row.epoch))
        throw new StoreError("locked", IN_USE);
      const claim = database.prepare(
        "UPDATE store_writer SET epoch = ?, owner = ?, expires = clock_timestamp() + make_interval(secs => ?)",
      );
      claim.run(row.epoch + 1, this.#owner, LEASE_SECONDS);
      database.prepare(`SELECT pg_advisory_lock(${LOCK})`).get(row.epoch + 1);
      database.commit();
      this.#held = { epoch: row.epoch + 1, count: row.count };
      return this.#held;
    } catch (error) {
      if (database.inTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Keeps all processes from writing until the transaction that is open ends; refuses while one may write. */
  exclude(): void {
    const row = this.#read();
    if (row.incomplete) throw new StoreError("invalid", INCOMPLETE);
    if (row.owner !== "" && !row.expired && !this.#isAbandoned(row.epoch))
      throw new StoreError("locked", IN_USE);
  }

  /** Renews the claim of a process that writes nothing. */
  renew(): void {
    const renewed = this.#database
      .prepare(
        "UPDATE store_writer SET expires = clock_timestamp() + make_interval(secs => ?) WHERE epoch = ?",
      )
      .run(LEASE_SECONDS, this.epoch);
    if (renewed.changes === 0) throw overtaken(this.epoch);
  }

  /** Lets the next process write at once. */
  release(): void {
    this.#database
      .prepare("UPDATE store_writer SET owner = '', expires = clock_timestamp() WHERE epoch = ?")
      .run(this.epoch);
    this.#database.settle();
  }

  #read(): WriterRow {
    const [row] = this.#database
      .prepare<WriterRow>(
        "SELECT epoch, owner, count, incomplete, expires <= clock_timestamp() AS expired FROM store_writer FOR UPDATE",
      )
      .all();
    if (!row) throw new StoreError("corrupt", "the row of the writer is missing; restore a backup");
    return row;
  }

  #isAbandoned(epoch: number): boolean {
    const lock = this.#database.prepare<{ got: number }>(`SELECT pg_try_advisory_xact_lock(${LOCK}) AS got`);
    return lock.get(epoch)?.got === 1;
  }
}

/** Two databases of one server share no locks, two schemas of a database do. */
const LOCK = "hashtext('reins ' || current_schema()), ?::integer";

const IN_USE = "in use by another server; stop it first, or wait until its claim has expired";
const INCOMPLETE = "a copy into this database was not completed; drop its schema and copy again";

function overtaken(epoch: number): PostgresFault {
  return new PostgresFault({ code: "RN001", message: `its epoch is ${epoch} by now`, lost: false });
}

/** Commits of which the connection was lost before it showed whether they were kept. */
export interface Unresolved {
  readonly outcomes: readonly Outcome[];
  /** How many transactions there are if they were. */
  readonly count: number;
}

/** The transaction of a batch. All of them are durable: a database that crashes takes back what this process knows. */
export class PostgresTransaction implements BatchTransaction {
  readonly #database: PostgresDatabase;
  readonly #claim: WriterClaim;
  readonly #onKept: (count: number) => void;
  #count: number;
  #unresolved: Unresolved | undefined;

  constructor(
    database: PostgresDatabase,
    claim: WriterClaim,
    count: number,
    onKept: (count: number) => void,
  ) {
    this.#database = database;
    this.#claim = claim;
    this.#count = count;
    this.#onKept = onKept;
  }

  get unresolved(): Unresolved | undefined {
    return this.#unresolved;
  }

  begin(): void {
    this.#database.begin();
    this.#database.prepare("SELECT store_fence(?, ?)").run(this.#claim.epoch, LEASE_SECONDS);
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
