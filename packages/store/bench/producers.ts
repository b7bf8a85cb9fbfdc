import { change, type Store, StoreError } from "../src/index.ts";
import { rowAt } from "./row.ts";
import { rows } from "./rows.ts";

/** How rows are written. */
export interface ProducerOptions {
  readonly durable: boolean;
  /** Every so many rows comes one that is there already and is refused. */
  readonly refuseEvery?: number;
}

/** Callers of a store, each waits for one commit before the next. */
export class Producers {
  readonly #store: Pick<Store, "commit">;
  readonly #options: ProducerOptions;
  #next = 1;

  constructor(store: Pick<Store, "commit">, options: ProducerOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Has `producers` callers write `count` rows in all. */
  async write(count: number, producers: number): Promise<void> {
    const end = this.#next + count;
    const produce = async () => {
      while (this.#next < end) await this.#writeOne();
    };
    await Promise.all(Array.from({ length: producers }, produce));
  }

  /** Writes one row; returns the microseconds it took. */
  async time(): Promise<number> {
    const began = performance.now();
    await this.#writeOne();
    return (performance.now() - began) * 1_000;
  }

  async #writeOne(): Promise<void> {
    const { durable, refuseEvery } = this.#options;
    const isRefused = refuseEvery !== undefined && this.#next % refuseEvery === 0;
    const row = rowAt(isRefused ? 1 : this.#next);
    this.#next += 1;
    const commit = this.#store.commit([change(rows, "insert", row)], { durable });
    if (isRefused) await commit.catch(expectConflict);
    else await commit;
  }
}

function expectConflict(error: unknown): void {
  if (!(error instanceof StoreError && error.code === "conflict")) throw error;
}
