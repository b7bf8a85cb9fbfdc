import { type MessagePort, Worker } from "node:worker_threads";
import { errorMessage } from "@reins/kit/errors";
import { leases } from "../leases.ts";
import type { PostgresThreadData } from "../postgres/opened.ts";
import type {
  Change,
  CommitOptions,
  Lease,
  Operations,
  Results,
  Store,
  StoreReader,
  Tables,
} from "../store.ts";
import { StoreError } from "../store-error.ts";
import { CHUNK, CommitQueue } from "./commit-queue.ts";
import type { SqliteLimits } from "./open.ts";
import type {
  AnsweredReply,
  AppliedReply,
  OtherRequest,
  Outcome,
  Reply,
  Request,
  SentOutcome,
  ThreadData,
  Write,
} from "./threads.ts";

/** Names a change of some tables. */
export function change<Changes extends Operations, Name extends keyof Changes & string>(
  tables: Tables<Changes, Operations>,
  name: Name,
  args: Parameters<Changes[Name]>[0],
): Change<ReturnType<Changes[Name]>> {
  return { tables: tables.name, name, args };
}

/** Queries of a database in SQLite, answered by a thread of their own. */
export class SqliteReader implements StoreReader {
  readonly #thread: Pick<ThreadPort, "waiting" | "ask" | "end">;
  readonly #maxQueries: number;
  #closing: Promise<void> | undefined;

  constructor(thread: Pick<ThreadPort, "waiting" | "ask" | "end">, maxQueries: number) {
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
  readonly #now: (() => number) | undefined;
  #closing: Promise<void> | undefined;

  constructor(writer: ThreadPort, reader: SqliteReader, limits: SqliteLimits, now?: () => number) {
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
    const now = this.#now && { now: this.#now() };
    const [lease] = await this.commit([change(leases, "claim", { name, owner, milliseconds, ...now })]);
    return lease;
  }

  async renew(lease: Lease, milliseconds: number): Promise<Lease | undefined> {
    const now = this.#now && { now: this.#now() };
    const [renewed] = await this.commit([change(leases, "renew", { lease, milliseconds, ...now })]);
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

type WithoutId<One> = One extends { readonly id: number } ? Omit<One, "id"> : never;

/** A caller that waits for a reply. */
interface Waiting {
  settle(reply: Reply): void;
  reject(error: StoreError): void;
}

/** Where the code of a thread is, whether it runs from source or was built. */
const CODE = import.meta.url.endsWith(".ts")
  ? new URL("./thread.ts", import.meta.url)
  : new URL("./thread.js", import.meta.url);

/** The main thread's end of a thread of the store: asks by message, answers by promise. */
export class ThreadPort {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #gone: StoreError | undefined;

  /** Starts a thread, which opens the database when it is first asked something. */
  constructor(data: ThreadData | PostgresThreadData, code = CODE, transferList: MessagePort[] = []) {
    this.#worker = new Worker(code, {
      ...{ workerData: data, transferList, stdin: false, name: `store ${data.role}` },
    });
    this.#worker.on("message", (reply: Reply) => this.#settle(reply));
    this.#worker.on("messageerror", (error) =>
      this.#fail(`sent what cannot be read: ${errorMessage(error)}`),
    );
    this.#worker.on("error", (error) => this.#fail(`died: ${errorMessage(error)}`));
    this.#worker.on("exit", (code) => this.#fail(`ended with code ${code}`));
  }

  /** How many questions wait for their reply. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Writes commits; resolves to the outcome of each. Throws at once when they cannot be sent. */
  apply(writes: readonly Write[]): Promise<readonly Outcome[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Outcome[]>();
    const settle = (reply: Reply) => {
      if (isApplied(reply)) resolve(reply[1].map(received));
      else reject(refusalIn(reply));
    };
    this.#send({ kind: "apply", id: this.#nextId(), writes }, { settle, reject });
    return promise;
  }

  /** Sends a request and resolves to its result. */
  async ask(question: WithoutId<OtherRequest>): Promise<unknown> {
    const reply = await this.#replyTo(question);
    return isApplied(reply) ? undefined : unwrap(reply.outcome);
  }

  /** Closes the database, if it is open, and ends the thread. */
  async end(): Promise<void> {
    try {
      if (!this.#gone && this.#lastId > 0) await this.#replyTo({ kind: "close" });
    } finally {
      this.#gone ??= new StoreError("closed", "the store is closed");
      await this.#worker.terminate();
    }
  }

  #replyTo(question: WithoutId<OtherRequest>): Promise<Reply> {
    const { promise, resolve: settle, reject } = Promise.withResolvers<Reply>();
    this.#send({ ...question, id: this.#nextId() }, { settle, reject });
    return promise;
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #send(request: Request, waiting: Waiting): void {
    if (this.#gone) throw this.#gone;
    try {
      this.#worker.postMessage(request);
    } catch (error) {
      throw new StoreError("invalid", `not plain data: ${errorMessage(error)}`, { cause: error });
    }
    this.#waiting.set(request.id, waiting);
  }

  #settle(reply: Reply): void {
    const id = isApplied(reply) ? reply[0] : reply.id;
    this.#waiting.get(id)?.settle(reply);
    this.#waiting.delete(id);
  }

  #fail(what: string): void {
    this.#gone ??= new StoreError("io", `the store's thread ${what}; open the store anew`);
    for (const waiting of this.#waiting.values()) waiting.reject(this.#gone);
    this.#waiting.clear();
  }
}

function isApplied(reply: Reply): reply is AppliedReply {
  return Array.isArray(reply);
}

/** Why commits were refused before any of them was tried. */
function refusalIn({ outcome }: AnsweredReply): StoreError {
  const { code, message } = "error" in outcome ? outcome.error : NO_OUTCOME;
  return new StoreError(code, message);
}

const NO_OUTCOME = { code: "io", message: "the writer did not say what became of the commits" } as const;

/** The outcome that was sent. */
function received(outcome: SentOutcome): Outcome {
  if (typeof outcome === "number") return { results: new Array(outcome).fill(undefined) };
  return Array.isArray(outcome) ? { results: outcome } : outcome;
}

/** The results of an outcome, or its error thrown. */
function unwrap<Results>(outcome: Outcome<Results>): Results {
  if ("error" in outcome) throw new StoreError(outcome.error.code, outcome.error.message);
  return outcome.results;
}
