/** Rings for one who waits; a ring that nobody waited for is not lost, and several are as good as one. */
export class Bell {
  #rung = false;
  #wake: () => void = () => {};

  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  /** Settles when it has rung since the last time. */
  async wait(): Promise<void> {
    if (!this.#rung)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#rung = false;
  }
}
