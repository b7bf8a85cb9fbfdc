import { RpcError } from "@reins/acp";
import { raceAbort } from "@reins/kit";

/** The code of an answer that says that too many prompts wait already. */
export const QUEUE_FULL = -32011;

/** One turn after the other, with a bounded number waiting. */
export class TurnQueue {
  readonly #most: number;
  /** How many run or wait. */
  #count = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(most = 8) {
    this.#most = most;
  }

  /** Whether a turn runs or waits. */
  get isBusy(): boolean {
    return this.#count > 0;
  }

  /** Settles when everything that was put into it by now is done; never rejects. */
  get settled(): Promise<unknown> {
    return this.#last;
  }

  /** Runs something when everything before it is done. One that is taken back before that waits no longer, and never runs. */
  run<Result>(turn: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    if (this.#count > this.#most)
      return Promise.reject(
        new RpcError(QUEUE_FULL, `${this.#most} prompts wait already`, { code: "queue_full" }),
      );
    this.#count += 1;
    const before = this.#count === 1 ? undefined : this.#last;
    const run = this.#run(turn, signal, before);
    // One that was taken back is done before those that it came after.
    this.#last = Promise.all([before, run.catch(() => undefined)]).then(() => undefined);
    return run;
  }

  async #run<Result>(
    turn: () => Promise<Result>,
    signal: AbortSignal,
    before: Promise<unknown> | undefined,
  ): Promise<Result> {
    try {
      if (before) await raceAbort(before, signal);
      signal.throwIfAborted();
      return await turn();
    } finally {
      this.#count -= 1;
    }
  }
}
