import type { Clock } from "@reins/kit";
import { AhpError } from "../errors/ahp-error.ts";
import type { Awaitable } from "./handlers.ts";

/** A handler's time: how long it has, and the signal that tells it when that is over. */
export class Deadline {
  readonly #clock: Clock;
  readonly #milliseconds: number | undefined;
  #controller: AbortController | undefined;
  #expired: AhpError | undefined;

  constructor(clock: Clock, milliseconds: number | undefined) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
  }

  /** Ends with the deadline. Made when first asked for, because few handlers do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#expired) this.#controller.abort(this.#expired);
    return this.#controller.signal;
  }

  /** Whether the time is over. */
  get expired(): boolean {
    return this.#expired !== undefined;
  }

  /** The handler's result, or a rejection with `Timeout after Nms` when it comes too late. */
  run<Result>(handler: () => Awaitable<Result>): Awaitable<Result> {
    const result = handler();
    const milliseconds = this.#milliseconds;
    if (milliseconds === undefined || !isThenable(result)) return result;
    return new Promise<Result>((resolve, reject) => {
      const callOff = this.#clock.after(milliseconds, () => {
        this.#expired = AhpError.timeout(milliseconds);
        this.#controller?.abort(this.#expired);
        reject(this.#expired);
      });
      Promise.resolve(result).then(resolve, reject).finally(callOff);
    });
  }
}

/** Whether a value comes later; also the promises of other libraries do. */
function isThenable<Result>(value: Awaitable<Result>): value is Promise<Result> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
