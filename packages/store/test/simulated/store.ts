import type { Clock } from "@reins/kit";
import { leases } from "../../src/leases.ts";
import { PostgresReader, type PostgresThreadData, PostgresWriter } from "../../src/postgres/opened.ts";
import { partsOf } from "../../src/sqlite/open.ts";
import { loadModules, type Modules } from "../../src/sqlite/opened.ts";
import { change } from "../../src/sqlite/sqlite-store.ts";
import { failed, type Outcome, translate, type Write } from "../../src/sqlite/threads.ts";
import type {
  Change,
  CommitOptions,
  Lease,
  Operations,
  Results,
  Store,
  StoreNode,
  Tables,
} from "../../src/store.ts";
import { StoreError } from "../../src/store-error.ts";
import type { SimulatedConnection, SimulatedServer } from "./server.ts";

export type { Modules, Outcome, Write };

/** The modules of tables, with those that every store has. */
export function modulesOf(tables: readonly Tables<Operations, Operations>[]): Promise<Modules> {
  return loadModules({ tables: partsOf(tables) });
}

export interface SimulatedStoreOptions {
  readonly server: SimulatedServer;
  readonly tables: readonly Tables<Operations, Operations>[];
  readonly modules: Modules;
  readonly node: StoreNode;
  /** The clock of the process: stands still with it. */
  readonly clock: Clock;
  /** How long something takes to the database, or back, in milliseconds. */
  readonly delay: () => number;
  /** Called at the moment at which a batch was committed, or not. */
  readonly onApplied?: (writes: readonly Write[], outcomes: readonly Outcome[]) => void;
  /** Called when the process can write nothing any more. */
  readonly onBroken?: (error: StoreError) => void;
  /** Leaves out a rule: takes what was not answered for kept. */
  readonly isCredulous?: boolean;
}

interface Waiting {
  readonly write: Write;
  readonly settle: (outcome: Outcome) => void;
}

const MOST_IN_BATCH = 1_000;
const RETRY_MS = [50, 100, 200, 500, 1_000, 2_000] as const;
const AWAY = new StoreError("unavailable", "the database cannot be reached, and nothing of this was kept");

/**
 * The store of a node on a {@link SimulatedServer}: the writer, the reader, the claim and the tables are those of
 * PostgreSQL, and its threads are turns of a clock.
 */
export class SimulatedStore implements Store {
  readonly node: StoreNode;
  readonly connection: SimulatedConnection;
  readonly reading: SimulatedConnection;
  readonly #options: SimulatedStoreOptions;
  readonly #writer: PostgresWriter;
  readonly #reader: PostgresReader;
  readonly #watching = new Map<() => void, string>();
  readonly #noticed = new Set<string>();
  #waiting: Waiting[] = [];
  #unresolved: readonly Waiting[] = [];
  #isWorking = false;
  #isResuming = false;
  #broken: StoreError | undefined;

  private constructor(options: SimulatedStoreOptions) {
    const { server, tables, modules, node, clock } = options;
    this.#options = options;
    this.node = node;
    this.connection = server.connection((changed) => this.#notice(changed));
    this.reading = server.connection();
    const data = {
      ...{ role: "writer", tables: partsOf(tables), maxBatch: MOST_IN_BATCH, acceptLoss: false },
      ...{ schema: "simulated", node, status: new Int32Array(1), link: undefined as never },
    } satisfies PostgresThreadData;
    this.#writer = new PostgresWriter(data, modules, this.connection, () => clock.now().getTime());
    this.#reader = new PostgresReader({ ...data, role: "reader" }, modules, this.reading);
  }

  /** Claims the database; rejects while another process has the claim of its name. */
  static async open(options: SimulatedStoreOptions): Promise<SimulatedStore> {
    const store = new SimulatedStore(options);
    try {
      await store.#writer.open();
      await store.#reader.open();
    } catch (error) {
      store.end();
      throw error;
    }
    store.#renewLater();
    return store;
  }

  /** The epoch under which it writes. */
  get epoch(): number {
    return this.connection.epoch;
  }

  /** Whether a commit is on its way that acts under a lease. */
  get isFencing(): boolean {
    return this.#waiting.some(
      ({ write }) => write.changes[0]?.tables === leases.name && write.changes.length > 1,
    );
  }

  get outage(): string | undefined {
    return this.#isResuming ? "the database cannot be reached" : undefined;
  }

  watch(tables: Tables<Operations, Operations>, listener: () => void): () => void {
    const own = () => listener();
    this.#watching.set(own, tables.name);
    return () => void this.#watching.delete(own);
  }

  commit<const Changes extends readonly Change<unknown>[]>(
    changes: Changes,
    { lease }: CommitOptions = {},
  ): Promise<Results<Changes>> {
    const fenced = lease ? [change(leases, "fence", { lease }), ...changes] : changes;
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) => {
        if ("error" in outcome) return reject(new StoreError(outcome.error.code, outcome.error.message));
        // The writer returns one result for each change, in order.
        return resolve((lease ? outcome.results.slice(1) : outcome.results) as Results<Changes>);
      };
      this.#waiting.push({ write: { changes: fenced, durable: true }, settle });
      this.#work();
    });
  }

  async query<Queries extends Operations, Name extends keyof Queries & string>(
    tables: Tables<Operations, Queries>,
    name: Name,
    args: Parameters<Queries[Name]>[0],
  ): Promise<ReturnType<Queries[Name]>> {
    await this.#takes();
    if (this.#reader.isLost) await this.#reader.open();
    const found = this.#reader.query(tables.name, name, args);
    await this.#takes();
    return found as ReturnType<Queries[Name]>;
  }

  async claim(name: string, owner: string, milliseconds: number): Promise<Lease | undefined> {
    const [lease] = await this.commit([change(leases, "claim", { name, owner, milliseconds })]);
    return lease;
  }

  async renew(lease: Lease, milliseconds: number): Promise<Lease | undefined> {
    const [renewed] = await this.commit([change(leases, "renew", { lease, milliseconds })]);
    return renewed;
  }

  async release(lease: Lease): Promise<void> {
    await this.commit([change(leases, "release", { lease })]);
  }

  async backup(): Promise<void> {}

  async scrub(): Promise<void> {}

  /** Lets the next process have its claim at once. */
  async close(): Promise<void> {
    await this.#writer.close();
    this.end();
  }

  /** The process has ended: nothing it waited for is answered. */
  end(): void {
    this.#broken ??= new StoreError("closed", "the store is closed");
    this.connection.lose();
    this.reading.lose();
  }

  #takes(): Promise<void> {
    const { clock, delay } = this.#options;
    return new Promise((resolve) => void clock.after(delay(), resolve));
  }

  #notice(changed: string): void {
    if (this.#noticed.has(changed)) return;
    this.#noticed.add(changed);
    const { clock, delay } = this.#options;
    clock.after(delay(), () => {
      this.#noticed.delete(changed);
      for (const [listener, name] of this.#watching) if (name === changed) listener();
    });
  }

  #work(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    const { clock, delay } = this.#options;
    clock.after(delay(), () => {
      const batch = this.#waiting.splice(0, MOST_IN_BATCH);
      this.#apply(batch);
      clock.after(delay(), () => {
        this.#isWorking = false;
        if (this.#waiting.length > 0) this.#work();
      });
    });
  }

  #apply(batch: readonly Waiting[]): void {
    if (this.#broken || this.#isResuming) {
      this.#refuse(batch, this.#broken ?? AWAY);
      return;
    }
    const writes = batch.map(({ write }) => write);
    const outcomes = this.#writer.apply(writes);
    const { unresolved } = this.#writer;
    this.#options.onApplied?.(writes, this.connection.wasKept && unresolved ? unresolved.outcomes : outcomes);
    if (unresolved?.outcomes.length === outcomes.length) this.#unresolved = batch;
    else this.#answer(batch, outcomes);
    const over = outcomes.find((one) => "error" in one && one.error.code === "io");
    if (over && "error" in over) this.#break(new StoreError("io", over.error.message));
    else if (this.#writer.isLost) void this.#resume();
  }

  async #resume(): Promise<void> {
    if (this.#isResuming) return;
    this.#isResuming = true;
    for (let attempt = 0; !this.#broken; attempt += 1) {
      const before = this.#writer.unresolved;
      try {
        const wasKept = await this.#writer.resume();
        const batch = this.#unresolved;
        this.#unresolved = [];
        if (wasKept || this.#options.isCredulous) this.#answer(batch, before?.outcomes ?? []);
        else this.#refuse(batch, AWAY);
        break;
      } catch (error) {
        const fault = translate(error);
        if (["io", "lost", "corrupt", "newer", "invalid"].includes(fault.code)) this.#break(fault);
        else await this.#pause(RETRY_MS[attempt] ?? 5_000);
      }
    }
    this.#isResuming = false;
  }

  #break(error: StoreError): void {
    if (this.#broken) return;
    this.#broken = error;
    this.#refuse(this.#unresolved, error);
    this.#options.onBroken?.(error);
  }

  #renewLater(): void {
    this.#options.clock.after(this.#writer.renewMs, () => {
      if (this.#broken) return;
      if (!this.#isResuming)
        try {
          this.#writer.renew();
        } catch (error) {
          const fault = translate(error);
          if (fault.code === "io") this.#break(fault);
          else if (this.#writer.isLost) void this.#resume();
        }
      this.#renewLater();
    });
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(milliseconds, resolve));
  }

  #answer(batch: readonly Waiting[], outcomes: readonly Outcome[]): void {
    const { clock, delay } = this.#options;
    clock.after(delay(), () => {
      for (const [index, { settle }] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome) settle(outcome);
      }
    });
  }

  #refuse(batch: readonly Waiting[], error: StoreError): void {
    this.#answer(
      batch,
      batch.map(() => failed(error)),
    );
  }
}
