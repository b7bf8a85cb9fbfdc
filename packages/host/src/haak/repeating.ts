import type { Clock } from "@reins/supervisor";

/** Does something again and again, one at a time, a while after the last time was done. What goes wrong is told, and it goes on. */
export class Repeating {
  readonly #clock: Pick<Clock, "after">;
  readonly #everyMs: number;
  readonly #work: () => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #callOff: () => void = () => undefined;
  #stopped = false;

  constructor(
    clock: Pick<Clock, "after">,
    everyMs: number,
    work: () => Promise<void>,
    onError: (error: unknown) => void,
  ) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#work = work;
    this.#onError = onError;
    this.#later();
  }

  /** Does it no more. */
  stop(): void {
    this.#stopped = true;
    this.#callOff();
  }

  #later(): void {
    if (this.#stopped) return;
    this.#callOff = this.#clock.after(this.#everyMs, () => {
      this.#work()
        .catch(this.#onError)
        .finally(() => this.#later());
    });
  }
}
