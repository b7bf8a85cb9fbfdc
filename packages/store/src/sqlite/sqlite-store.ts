import { leases } from "../leases.ts";
import {
  type Change,
  type CommitOptions,
  change,
  type Lease,
  type Operations,
  type Results,
  type Store,
  type StoreReader,
  type Tables,
} from "../store.ts";
import { StoreError } from "../store-error.ts";
import { CHUNK, CommitQueue } from "./commit-queue.ts";
import type { SqliteLimits } from "./open.ts";
import type { ThreadPort } from "./threads.ts";

/** Queries of a database in SQLite, answered by a thread of their own. */
export class SqliteReader implements StoreReader {
  readonly #thread: ThreadPort;
  readonly #maxQueries: number;
  #closing: Promise<void> | undefined;

  constructor(thread: ThreadPort, maxQueries: number) {
    this.#thread = thread;
    this.#maxQueries = maxQueries;
  }

  async query<Queries extends Operations, Name extends keyof Queries & string>(
    tables: Tables<Operations, Queries>,
    name: Name,
    args: Parameters<Queries[Name]>[0],
  ): Promise<ReturnType<Queries[Name]>> {
    this.#expectOpen();
    if (this.#thread.waiting >= this.#maxQueries) {
      throw new StoreError("overloaded", `${this.#maxQueries} queries wait already; try again later`);
    }
    const found = await this.#thread.ask({ kind: "query", tables: tables.name, name, args });
    // What comes back is what the tables' own query gave, whose type the caller's tables carry.
    return found as ReturnType<Queries[Name]>;
  }

  async backup(path: string): Promise<void> {
    this.#expectOpen();
    await this.#thread.ask({ kind: "backup", path });
  }

  close(): Promise<void> {
    this.#closing ??= this.#thread.end();
    return this.#closing;
  }

  #expectOpen(): void {
    if (this.#closing) throw new StoreError("closed", "the store is closed");
  }
}

/** A database in SQLite, as seen from the main thread. */
export class SqliteStore implements Store {
  readonly #writer: ThreadPort;
  readonly #reader: SqliteReader;
  readonly #queue: CommitQueue;
  readonly #now: () => number;
  #closing: Promise<void> | undefined;

  constructor(writer: ThreadPort, reader: SqliteReader, limits: SqliteLimits, now: () => number) {
    this.#writer = writer;
    this.#reader = reader;
    this.#now = now;
    this.#queue = new CommitQueue(
      (writes) => writer.apply(writes),
      { commits: limits.maxWaiting, bytes: limits.maxWaitingBytes },
      { ...CHUNK, commits: Math.min(CHUNK.commits, limits.maxBatch) },
    );
  }

  // Not an async function: one would hold on to the changes after they were handed over.
  commit<const Changes extends readonly Change<unknown>[]>(
    changes: Changes,
    { durable = true, relaxed = false, lease }: CommitOptions = {},
  ): Promise<Results<Changes>> {
    if (this.#closing) return Promise.reject(closed());
    const fenced = lease ? [change(leases, "fence", { lease }), ...changes] : changes;
    const results = this.#queue.add({ changes: fenced, durable }, { relaxed });
    // The writer returns one result for each change, in order; the fence's is not the caller's.
    return (lease ? results.then(([, ...own]) => own) : results) as Promise<Results<Changes>>;
  }

  async query<Queries extends Operations, Name extends keyof Queries & string>(
    tables: Tables<Operations, Queries>,
    name: Name,
    args: Parameters<Queries[Name]>[0],
  ): Promise<ReturnType<Queries[Name]>> {
    this.#expectOpen();
    return await this.#reader.query(tables, name, args);
  }

  async claim(name: string, owner: string, milliseconds: number): Promise<Lease | undefined> {
    const [lease] = await this.commit([
      change(leases, "claim", { name, owner, now: this.#now(), milliseconds }),
    ]);
    return lease;
  }

  async renew(lease: Lease, milliseconds: number): Promise<Lease | undefined> {
    const [renewed] = await this.commit([change(leases, "renew", { lease, now: this.#now(), milliseconds })]);
    return renewed;
  }

  async release(lease: Lease): Promise<void> {
    await this.commit([change(leases, "release", { lease })]);
  }

  async backup(path: string): Promise<void> {
    this.#expectOpen();
    await this.#writer.ask({ kind: "backup", path });
  }

  async scrub(): Promise<void> {
    this.#expectOpen();
    await this.#writer.ask({ kind: "scrub" });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#queue.idle();
    await this.#reader.close();
    await this.#writer.end();
  }

  #expectOpen(): void {
    if (this.#closing) throw closed();
  }
}

function closed(): StoreError {
  return new StoreError("closed", "the store is closed");
}
