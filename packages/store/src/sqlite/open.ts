import { leases } from "../leases.ts";
import type { CommitOptions, Lease, Results, Store } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { type Change, change, type Operations, type Tables } from "../tables.ts";
import { CommitQueue, type QueueLimits } from "./commit-queue.ts";
import { ThreadPort, unwrap } from "./thread-port.ts";

/** Where the database is and what is in it. */
export interface SqliteOptions {
  readonly path: string;
  /** The parts that packages bring. */
  readonly tables: readonly Tables<Operations, Operations>[];
  readonly limits?: Partial<QueueLimits>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Address of a module whose default export wraps the writer's database; for tests that break it. */
  readonly wrap?: string;
}

const DEFAULT_LIMITS: QueueLimits = { maxWaiting: 50_000, maxBatch: 2_000 };

/** Opens a database in SQLite: a thread that writes, a thread that reads, and nothing of it on this one. */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const tables = [leases, ...options.tables].map(({ name, module, settings }) => ({
    name,
    module,
    settings,
  }));
  const writer = await ThreadPort.start({ path: options.path, role: "writer", tables, wrap: options.wrap });
  const reader = await ThreadPort.start({ path: options.path, role: "reader", tables });
  return new SqliteStore(writer, reader, { ...DEFAULT_LIMITS, ...options.limits }, options.now ?? Date.now);
}

class SqliteStore implements Store {
  readonly #writer: ThreadPort;
  readonly #reader: ThreadPort;
  readonly #queue: CommitQueue;
  readonly #now: () => number;
  #closing: Promise<void> | undefined;

  constructor(writer: ThreadPort, reader: ThreadPort, limits: QueueLimits, now: () => number) {
    this.#writer = writer;
    this.#reader = reader;
    this.#now = now;
    this.#queue = new CommitQueue(async (writes) => {
      const reply = await writer.ask({ kind: "apply", writes });
      return reply.kind === "applied" ? reply.outcomes : [];
    }, limits);
  }

  async commit<const Changes extends readonly Change<unknown>[]>(
    changes: Changes,
    { durable = true, lease }: CommitOptions = {},
  ): Promise<Results<Changes>> {
    if (this.#closing) throw new StoreError("closed", "the store is closed");
    const fenced = lease ? [change(leases, "fence", { lease }), ...changes] : changes;
    const results = await this.#queue.add({ changes: fenced, durable });
    // The writer gives one result for each change, in order; the fence's is not the caller's.
    return (lease ? results.slice(1) : results) as Results<Changes>;
  }

  async query<Queries extends Operations, Name extends keyof Queries & string>(
    tables: Tables<Operations, Queries>,
    name: Name,
    args: Parameters<Queries[Name]>[0],
  ): Promise<ReturnType<Queries[Name]>> {
    // What comes back is what the tables' own query gave, whose type the caller's tables carry.
    return (await this.#ask({ kind: "query", tables: tables.name, name, args })) as ReturnType<Queries[Name]>;
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
    await this.#ask({ kind: "backup", path });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #ask(question: Parameters<ThreadPort["ask"]>[0]): Promise<unknown> {
    if (this.#closing) throw new StoreError("closed", "the store is closed");
    const reply = await this.#reader.ask(question);
    return reply.kind === "answered" ? unwrap(reply.outcome) : undefined;
  }

  async #close(): Promise<void> {
    await this.#queue.idle();
    await this.#reader.end();
    await this.#writer.end();
  }
}
