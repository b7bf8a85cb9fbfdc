import type { Clock } from "../clock.ts";

/** New entries are covered by a checkpoint within this time, with room to spare for writing it. */
const DELAY_MS = 50;

/** Makes checkpoints soon after new entries, many entries to one, and none when there are none. */
export class Checkpointer {
  readonly #make: () => Promise<void>;
  readonly #clock: Clock;
  #callOff: (() => void) | undefined;
  #making: Promise<void> = Promise.resolve();

  constructor(make: () => Promise<void>, clock: Clock) {
    this.#make = make;
    this.#clock = clock;
  }

  /** Tells that there are new entries. */
  due(): void {
    this.#callOff ??= this.#clock.after(DELAY_MS, () => void this.flush());
  }

  /** Makes the checkpoint that is due, if one is, and waits for those under way. */
  flush(): Promise<void> {
    if (this.#callOff) {
      this.#callOff();
      this.#callOff = undefined;
      this.#making = this.#making.then(this.#make);
    }
    return this.#making;
  }
}
