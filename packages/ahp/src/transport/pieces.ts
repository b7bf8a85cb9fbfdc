/** Small pieces are put together now and then, or the crumbs would outweigh the bread. */
const MOST_CRUMBS = 256;

/** Bytes that come in pieces. */
export class Pieces {
  #joined: Buffer[] = [];
  #crumbs: Buffer[] = [];
  #length = 0;

  /** How many bytes there are. */
  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    this.#crumbs.push(piece);
    if (this.#crumbs.length < MOST_CRUMBS) return;
    this.#joined.push(Buffer.concat(this.#crumbs));
    this.#crumbs = [];
  }

  /** All of them as one; none are left. */
  take(): Buffer {
    const [only] = this.#crumbs;
    const all =
      only && this.#crumbs.length === 1 && this.#joined.length === 0
        ? only
        : Buffer.concat([...this.#joined, ...this.#crumbs], this.#length);
    this.clear();
    return all;
  }

  /** Forgets them. */
  clear(): void {
    this.#joined = [];
    this.#crumbs = [];
    this.#length = 0;
  }
}
