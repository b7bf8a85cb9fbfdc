import { RpcError } from "../acp/rpc-error.ts";

/** The code of an answer that says that too many prompts wait already. */
export const QUEUE_FULL = -32011;

/** One turn after the other, with a bounded number waiting. */
export class TurnQueue {
  readonly #most: number;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(most = 8) {
    this.#most = most;
  }

  /** Whether a turn runs or waits. */
  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  /** Settles when everything that was put into it by now is done; never rejects. */
  get settled(): Promise<unknown> {
    return this.#last;
  }

  /** Runs something when everything before it is done. One that is taken back before its turn never runs. */
  run<Result>(turn: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    if (this.#waiting > this.#most)
      return Promise.reject(
        new RpcError(QUEUE_FULL, `${this.#most} prompts wait already`, { code: "queue_full" }),
      );
    this.#waiting += 1;
    const isFree = this.#waiting === 1;
    const run = isFree ? this.#run(turn, signal) : this.#last.then(() => this.#run(turn, signal));
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #run<Result>(turn: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    try {
      signal.throwIfAborted();
      return await turn();
    } finally {
      this.#waiting -= 1;
    }
  }
}
