/** What was kept of an output: its beginning, its end, and how many bytes between them were not. */
export interface KeptText {
  readonly head: string;
  readonly tail: string;
  readonly omitted: number;
}

/** Keeps the beginning and the end of a stream of bytes, so many of each. */
export class KeptOutput {
  readonly #bound: number;
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer[] = [];
  #tailLength = 0;
  #omitted = 0;

  constructor(bound: number) {
    this.#bound = bound;
  }

  /** Takes the next bytes. */
  push(chunk: Buffer): void {
    const room = this.#bound - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const rest = chunk.subarray(Math.max(0, room));
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailLength += rest.length;
    // Joined now and then, not for each chunk, so that many small ones cost no more than they hold.
    if (this.#tailLength > 2 * this.#bound || this.#tail.length > 1_000) this.#trim();
  }

  /** What is kept now. */
  read(): KeptText {
    this.#trim();
    const [tail] = this.#tail;
    return {
      head: this.#head.toString(),
      tail: tail?.toString() ?? "",
      omitted: this.#omitted,
    };
  }

  #trim(): void {
    const joined = Buffer.concat(this.#tail);
    const dropped = Math.max(0, joined.length - this.#bound);
    // A copy: a part of a chunk would keep the whole of it.
    this.#tail = [Buffer.from(joined.subarray(dropped))];
    this.#tailLength = joined.length - dropped;
    this.#omitted += dropped;
  }
}
