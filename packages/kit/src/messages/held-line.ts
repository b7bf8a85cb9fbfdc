const SMALLEST = 1 << 12;

/** A line that has not come to its end. Costs about what its bytes do, even if they come one by one. */
export class HeldLine {
  #bytes = Buffer.alloc(0);
  #length = 0;

  /** How many bytes it has. */
  get length(): number {
    return this.#length;
  }

  /** Adds what came next. */
  add(part: Buffer): void {
    const length = this.#length + part.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(SMALLEST, 2 * length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    part.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  /** Gives the line away, and begins another. */
  take(): Buffer {
    const line = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return line;
  }
}
