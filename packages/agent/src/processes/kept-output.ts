/** What a program wrote: its beginning and its end, however much there was between them. */
export class KeptOutput {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  readonly #head: Buffer[] = [];
  #headLength = 0;
  #tail: Buffer[] = [];
  #tailLength = 0;
  #total = 0;

  constructor(headLimit: number, tailLimit: number) {
    this.#headLimit = headLimit;
    this.#tailLimit = tailLimit;
  }

  /** How many bytes were written altogether. */
  get total(): number {
    return this.#total;
  }

  add(piece: Buffer): void {
    this.#total += piece.length;
    const first = piece.subarray(0, this.#headLimit - this.#headLength);
    if (first.length > 0) this.#head.push(first);
    this.#headLength += first.length;
    const rest = piece.subarray(first.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailLength += rest.length;
    if (this.#tailLength > 2 * this.#tailLimit) this.#trim();
  }

  /** What was kept, with a line where something was left out. */
  get text(): string {
    this.#trim();
    const left = this.#total - this.#headLength - this.#tailLength;
    const parts = [Buffer.concat(this.#head), Buffer.concat(this.#tail)].map((part) => part.toString("utf8"));
    return left > 0 ? parts.join(`\n[${left} bytes left out]\n`) : parts.join("");
  }

  #trim(): void {
    const tail = Buffer.concat(this.#tail);
    const kept = tail.subarray(Math.max(0, tail.length - this.#tailLimit));
    // A copy, so that what was left out can go.
    this.#tail = [Buffer.from(kept)];
    this.#tailLength = kept.length;
  }
}
