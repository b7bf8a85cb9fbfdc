import { StoreError } from "../store-error.ts";
import type { Outcome, Write } from "./messages.ts";
import { unwrap } from "./thread-port.ts";

/** How much may wait to be written, and how much is written at once. */
export interface QueueLimits {
  readonly maxWaiting: number;
  readonly maxBatch: number;
}

interface Waiting {
  readonly write: Write;
  readonly settled: PromiseWithResolvers<unknown[]>;
}

/**
 * Group commit: while one batch is being written, the next one gathers; the more callers, the larger the batches and
 * the fewer the waits for the disk.
 */
export class CommitQueue {
  readonly #apply: (writes: Write[]) => Promise<readonly Outcome[]>;
  readonly #limits: QueueLimits;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  constructor(apply: (writes: Write[]) => Promise<readonly Outcome[]>, limits: QueueLimits) {
    this.#apply = apply;
    this.#limits = limits;
  }

  /** Queues a commit; settles when its batch is written. */
  add(write: Write): Promise<unknown[]> {
    if (this.#waiting.length >= this.#limits.maxWaiting) {
      const text = `${this.#waiting.length} commits wait to be written already; try again later`;
      return Promise.reject(new StoreError("overloaded", text));
    }
    const settled = Promise.withResolvers<unknown[]>();
    this.#waiting.push({ write, settled });
    this.#writing ??= this.#writeAll();
    return settled.promise;
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    // Commits asked for in the same turn of the event loop belong to the first batch too.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#limits.maxBatch);
      try {
        const outcomes = await this.#apply(batch.map(({ write }) => write));
        for (const [index, { settled }] of batch.entries()) settle(settled, outcomes[index]);
      } catch (error) {
        for (const { settled } of batch) settled.reject(error);
      }
    }
    this.#writing = undefined;
  }
}

function settle(settled: PromiseWithResolvers<unknown[]>, outcome: Outcome | undefined): void {
  try {
    if (!outcome) throw new StoreError("io", "the writer gave no outcome");
    settled.resolve(unwrap(outcome));
  } catch (error) {
    settled.reject(error);
  }
}
