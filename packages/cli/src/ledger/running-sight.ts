import { textOf } from "../errors/render.ts";
import type { Notice } from "../notice.ts";
import type { SeenCheckpoints, Sighting } from "./seen-checkpoints.ts";

/** Checkpoints are kept at most so often. */
const INTERVAL_MS = 1_000;

/** Where the checkpoints of a ledger that is written to are kept, apart from its home. */
export interface RunningSightOptions {
  readonly home: string;
  readonly seen: SeenCheckpoints;
  readonly notice: Notice;
  /** Milliseconds from any beginning. */
  readonly now?: () => number;
}

/** Keeps the checkpoints of a ledger while it is written to, so that whatever ends the process, the newest is known. */
export class RunningSight {
  readonly #options: RunningSightOptions;
  readonly #now: () => number;
  #newest: Sighting | undefined;
  #timer: NodeJS.Timeout | undefined;
  #keeping: Promise<void> = Promise.resolve();
  #isTold = false;
  #keptAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: RunningSightOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Takes a checkpoint that was made. */
  saw(sighting: Sighting): void {
    if (this.#closed) return;
    this.#newest = sighting;
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#keep();
      },
      Math.max(0, this.#keptAt + INTERVAL_MS - this.#now()),
    ).unref();
  }

  /** Settles when nothing is being kept any more. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#keeping;
  }

  #keep(): void {
    const newest = this.#newest;
    if (!newest) return;
    this.#keptAt = this.#now();
    const { home, seen, notice } = this.#options;
    this.#keeping = this.#keeping
      .then(() => seen.keep(home, newest))
      .then(() => {
        this.#isTold = false;
      })
      .catch((error: unknown) => {
        if (!this.#isTold) notice(`The newest checkpoint cannot be kept: ${textOf(error)}`);
        this.#isTold = true;
      });
  }
}
