import type { Clock } from "@reins/kit";

/** New entries are covered by a checkpoint within this time, with room to spare for writing it. */
const DELAY_MS = 50;

/** Makes checkpoints soon after new entries, many entries to one, and none when there are none. */
export class Checkpointer {
  readonly #make: () => Promise<boolean>;
  readonly #clock: Clock;
  #callOff: (() => void) | undefined;
  /** Whether there are entries that none covers. */
  #owed = false;
  #making: Promise<void> = Promise.resolve();

  /** `make` tells whether it made one; what it could not cover is owed until the next is asked for. */
  constructor(make: () => Promise<boolean>, clock: Clock) {
    this.#make = make;
    this.#clock = clock;
  }

  /** Tells that there are new entries. */
  due(): void {
    this.#owed = true;
    this.#callOff ??= this.#clock.after(DELAY_MS, () => void this.flush());
  }

  /** Makes the checkpoint that is due or owed, if one is, and waits for those under way. */
  flush(): Promise<void> {
    this.#callOff?.();
    this.#callOff = undefined;
    if (this.#owed) this.#making = this.#making.then(() => this.#pay());
    this.#owed = false;
    return this.#making;
  }

  async #pay(): Promise<void> {
    if (!(await this.#make())) this.#owed = true;
  }
}
