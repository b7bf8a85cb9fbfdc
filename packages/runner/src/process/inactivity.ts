import type { Clock } from "@reins/kit";

/** What a deadline for silence needs. */
export interface InactivityOptions {
  readonly clock: Clock;
  readonly milliseconds: number;
  /** Called once, when nothing was heard for so long. */
  readonly onSilent: () => void;
}

/** A deadline that every sign of life puts off. */
export class Inactivity {
  readonly #options: InactivityOptions;
  #heard: number;
  #callOff: () => void;

  constructor(options: InactivityOptions) {
    this.#options = options;
    this.#heard = this.#now();
    this.#callOff = this.#wait(options.milliseconds);
  }

  /** Something was heard. Costs next to nothing: the timer is not touched. */
  heard(): void {
    this.#heard = this.#now();
  }

  /** Nothing is expected any more. */
  end(): void {
    this.#callOff();
  }

  #wait(milliseconds: number): () => void {
    return this.#options.clock.after(milliseconds, () => {
      const left = this.#heard + this.#options.milliseconds - this.#now();
      if (left <= 0) this.#options.onSilent();
      else this.#callOff = this.#wait(left);
    });
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}
