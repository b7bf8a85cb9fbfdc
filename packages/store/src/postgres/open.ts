import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { DEFAULT_LIMITS, lossesIn, partsOf, type SqliteOptions } from "../sqlite/open.ts";
import { SqliteReader, SqliteStore, ThreadPort } from "../sqlite/sqlite-store.ts";
import type { ThreadData } from "../sqlite/threads.ts";
import type { Operations, Store, StoreNode, StoreReader, Tables } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { type PostgresAddress, shownAddress } from "./address.ts";
import { type ConnectorData, GONE, type LinkEnd, type LinkNotice, REPLIES } from "./messages.ts";
import type { PostgresThreadData } from "./opened.ts";

/** Where the database is and what is in it. */
export interface PostgresOptions
  extends Pick<SqliteOptions, "tables" | "limits" | "now" | "acceptLoss" | "onLoss"> {
  readonly address: PostgresAddress;
  /** A file that notes how far the database had come, to notice when an older copy takes its place. */
  readonly mark?: string;
  /**
   * What this process is called among others that write to the database at the same time. Without it it has the database
   * to itself, and one that has it keeps every other out. Tables and what is built on them have to be made for that.
   */
  readonly node?: StoreNode;
  /** Threads that answer queries, each with a connection. */
  readonly readers?: number;
  /** How long a connection may take to be made, and a statement to be answered, in milliseconds. */
  readonly connectMs?: number;
  readonly answerMs?: number;
}

const [CONNECT_MS, ANSWER_MS, READERS] = [5_000, 30_000, 2];

/** Where the code of the threads is, whether it runs from source or was built. */
const isSource = import.meta.url.endsWith(".ts");
const THREAD = isSource ? new URL("./thread.ts", import.meta.url) : new URL("./thread.js", import.meta.url);
const CONNECTOR = isSource
  ? new URL("./connector.ts", import.meta.url)
  : new URL("./connector.js", import.meta.url);

/**
 * Opens a database in PostgreSQL: a thread that writes, threads that read, and one that is connected, for which they
 * wait. Tables are the same code as in SQLite, which runs without promises.
 */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const count = options.readers ?? READERS;
  const threads = startThreads(options, ["writer", ...new Array<"reader">(count).fill("reader")]);
  const [writer, ...readers] = threads.ports;
  if (!writer) throw new StoreError("io", "the thread of the writer did not start");
  try {
    for (const loss of lossesIn(await writer.ask({ kind: "open" }))) options.onLoss?.(loss);
  } catch (error) {
    await threads.end();
    throw named(error, options.address);
  }
  const reading = new SqliteReader(new ReaderPool(readers), limits.maxQueries);
  return new ConnectedStore({ writer, reading, limits, now: options.now, node: options.node, threads });
}

/**
 * Opens a database for reading, beside the process that writes to it. The tables must be there already. With
 * `acceptLoss` also one into which a copy was not completed.
 */
export async function openPostgresReader(
  address: PostgresAddress,
  tables: readonly Tables<Operations, Operations>[],
  options: Pick<PostgresOptions, "acceptLoss"> = {},
): Promise<StoreReader> {
  const threads = startThreads({ address, tables, ...options }, ["reader"]);
  const pool = new ReaderPool(threads.ports);
  try {
    await pool.ask({ kind: "open" });
  } catch (error) {
    await threads.end();
    throw named(error, address);
  }
  const end = async () => {
    await pool.end();
    await threads.end();
  };
  return new SqliteReader(
    { waiting: 0, ask: (question) => pool.ask(question), end },
    DEFAULT_LIMITS.maxQueries,
  );
}

/** Says of which database an error is. */
function named(error: unknown, address: PostgresAddress): unknown {
  if (!(error instanceof StoreError)) return error;
  return new StoreError(error.code, `${shownAddress(address)}: ${error.message}`, { cause: error });
}

type Question = Parameters<ThreadPort["ask"]>[0];

/** Threads that answer queries; each goes to the one with the fewest. */
class ReaderPool {
  readonly #ports: readonly ThreadPort[];

  constructor(ports: readonly ThreadPort[]) {
    this.#ports = ports;
  }

  get waiting(): number {
    return this.#ports.reduce((sum, { waiting }) => sum + waiting, 0);
  }

  async ask(question: Question): Promise<unknown> {
    const [first, ...others] = this.#ports;
    if (!first) throw new StoreError("io", "there is no thread that reads");
    return others.reduce((best, one) => (one.waiting < best.waiting ? one : best), first).ask(question);
  }

  async end(): Promise<void> {
    await Promise.all(this.#ports.map((port) => port.end()));
  }
}

interface Threads {
  readonly ports: readonly ThreadPort[];
  /** Not 0 while the writer has no connection. */
  readonly status: Int32Array;
  onNotice(listener: (notice: LinkNotice) => void): void;
  end(): Promise<void>;
}

/** Starts the thread that speaks to PostgreSQL, with so many connections. */
export function startConnector(
  { address, connectMs = CONNECT_MS, answerMs = ANSWER_MS }: Omit<PostgresOptions, "tables">,
  count: number,
): { readonly links: readonly LinkEnd[]; readonly connector: Worker } {
  const links = Array.from({ length: count }, () => {
    const { port1, port2 } = new MessageChannel();
    return { here: port1, there: port2, signal: new Int32Array(new SharedArrayBuffer(8)) };
  });
  const connectorData: ConnectorData = {
    ...{ address, connectMs, answerMs },
    links: links.map(({ there: port, signal }) => ({ port, signal })),
  };
  const transferList: MessagePort[] = links.map(({ there }) => there);
  const connector = new Worker(CONNECTOR, {
    ...{ workerData: connectorData, transferList, stdin: false, name: "store connector" },
  });
  const gone = () => {
    for (const { signal } of links) {
      Atomics.store(signal, GONE, 1);
      Atomics.notify(signal, REPLIES);
    }
  };
  connector.on("error", gone);
  connector.on("exit", gone);
  return { links: links.map(({ here: port, signal }) => ({ port, signal })), connector };
}

function startThreads(
  { tables, limits, mark, node, acceptLoss, ...options }: PostgresOptions,
  roles: readonly ThreadData["role"][],
): Threads {
  const { schema } = options.address;
  const status = new Int32Array(new SharedArrayBuffer(4));
  const { links, connector } = startConnector(options, roles.length);
  const common = { tables: partsOf(tables), maxBatch: { ...DEFAULT_LIMITS, ...limits }.maxBatch, acceptLoss };
  const ports = links.map((link, index) => {
    const data: PostgresThreadData = {
      ...{ ...common, role: roles[index] ?? "reader", schema, mark, node, status, link },
    };
    return new ThreadPort(data, THREAD, [link.port]);
  });
  const end = async () => {
    await Promise.all(ports.map((port) => port.end()));
    await connector.terminate();
  };
  const onNotice = (listener: (notice: LinkNotice) => void) => void connector.on("message", listener);
  return { ports, status, onNotice, end };
}

/** A store whose database may come and go. */
class ConnectedStore extends SqliteStore {
  readonly node: StoreNode | undefined;
  readonly #threads: Threads;
  /** Who is called when tables were changed, by their names. */
  readonly #watching = new Map<() => void, string>();
  #isClosing = false;

  constructor({ writer, reading, limits, now, node, threads }: ConnectedParts) {
    super(writer, reading, limits, now);
    this.node = node;
    this.#threads = threads;
    if (node)
      threads.onNotice(({ changed }) => {
        for (const [listener, name] of this.#watching)
          if (changed === undefined || changed === name) listener();
      });
  }

  watch(tables: Tables<Operations, Operations>, listener: () => void): () => void {
    const own = () => listener();
    this.#watching.set(own, tables.name);
    return () => void this.#watching.delete(own);
  }

  get outage(): string | undefined {
    return Atomics.load(this.#threads.status, 0) === 0
      ? undefined
      : "the database cannot be reached; what needs a verdict is blocked until it is back";
  }

  override async backup(): Promise<void> {
    if (this.#isClosing) throw new StoreError("closed", "the store is closed");
    throw new StoreError(
      "invalid",
      "a database in PostgreSQL is backed up by its own means, such as pg_dump",
    );
  }

  override async close(): Promise<void> {
    this.#isClosing = true;
    await super.close();
    await this.#threads.end();
  }
}

interface ConnectedParts {
  readonly writer: ThreadPort;
  readonly reading: SqliteReader;
  readonly limits: typeof DEFAULT_LIMITS;
  /** Without one, leases count by the clock of the database. */
  readonly now: (() => number) | undefined;
  readonly node: StoreNode | undefined;
  readonly threads: Threads;
}
