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

  /** How many wait, the one that runs not counted. */
  get waiting(): number {
    return Math.max(0, this.#waiting - 1);
  }

  /** Runs something when everything before it is done. One that is taken back before its turn never runs. */
  run<Result>(turn: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    if (this.#waiting > this.#most)
      return Promise.reject(
        new RpcError(QUEUE_FULL, `${this.#most} prompts wait already`, { code: "queue_full" }),
      );
    this.#waiting += 1;
    const run = this.#last.then(() => {
      signal.throwIfAborted();
      return turn();
    });
    this.#last = run
      .catch(() => undefined)
      .then(() => {
        this.#waiting -= 1;
      });
    return run;
  }
}
