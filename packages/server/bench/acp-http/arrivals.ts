/** How long nothing may arrive before what is missing is taken for lost. */
const QUIET_MS = 1_000;

/** Counts what arrives. */
export class Arrivals {
  #count = 0;
  #watch: () => void = () => undefined;

  /** Notes some more. */
  add(count: number): void {
    this.#count += count;
    this.#watch();
  }

  get count(): number {
    return this.#count;
  }

  /** Settles when so many have arrived, or none has for a while. */
  async reach(count: number): Promise<void> {
    while (this.#count < count) {
      const before = this.#count;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, QUIET_MS);
      this.#watch = () => {
        if (this.#count >= count) resolve();
      };
      await promise;
      clearTimeout(timer);
      if (this.#count === before) return;
    }
  }
}

const MARK = Buffer.from('"session/update"');

/** Counts the updates in bytes that come in pieces, without reading them. */
export class UpdateCounter {
  readonly #arrivals: Arrivals;
  #rest: Buffer = Buffer.alloc(0);

  constructor(arrivals: Arrivals) {
    this.#arrivals = arrivals;
  }

  take(piece: Buffer): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece;
    let count = 0;
    let end = 0;
    for (let at = bytes.indexOf(MARK); at !== -1; at = bytes.indexOf(MARK, end)) {
      count += 1;
      end = at + MARK.length;
    }
    this.#rest = bytes.subarray(Math.max(end, bytes.length - MARK.length + 1));
    if (count > 0) this.#arrivals.add(count);
  }
}
