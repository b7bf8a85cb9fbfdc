/** Checks under way, so many at a time and no more. */
export class PendingChecks {
  readonly #limit: number;
  #count = 0;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether the next one has to wait for {@link room}. */
  get full(): boolean {
    return this.#count >= this.#limit;
  }

  /** Takes a check that is under way. */
  add(check: Promise<void>): void {
    this.#count += 1;
    check
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#count -= 1;
        this.#wake?.();
      });
  }

  /** Resolves once half of the places are free; rejects when a check could not be made. */
  room(): Promise<void> {
    return this.#until(this.#limit / 2);
  }

  /** Resolves once nothing is under way; rejects when a check could not be made. */
  settled(): Promise<void> {
    return this.#until(0);
  }

  async #until(count: number): Promise<void> {
    while (this.#count > count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wake = undefined;
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
