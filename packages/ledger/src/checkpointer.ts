import type { Clock } from "@reins/kit";

/** New entries are covered by a checkpoint within this time, with room to spare for writing it. */
const DELAY_MS = 50;

/** Makes a checkpoint shortly after new entries; many entries share one. */
export class Checkpointer {
  readonly #make: () => Promise<boolean>;
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;
  /** Whether there are entries that no checkpoint covers. */
  #owed = false;
  #making: Promise<void> = Promise.resolve();

  /** `make` returns whether it made one; if not, the next flush tries again. */
  constructor(make: () => Promise<boolean>, clock: Clock) {
    this.#make = make;
    this.#clock = clock;
  }

  /** Schedules a checkpoint for new entries. */
  due(): void {
    this.#owed = true;
    this.#cancel ??= this.#clock.after(DELAY_MS, () => void this.flush());
  }

  /** Makes the checkpoint that is due, if any, and waits for those in progress. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#owed) this.#making = this.#making.then(() => this.#pay());
    this.#owed = false;
    return this.#making;
  }

  async #pay(): Promise<void> {
    if (!(await this.#make())) this.#owed = true;
  }
}
