/** Joins small chunks at this count: their objects cost more memory than their bytes. */
const MAX_LOOSE = 256;

/** Bytes that come in chunks. */
export class Chunks {
  #joined: Buffer[] = [];
  #loose: Buffer[] = [];
  #length = 0;

  /** How many bytes there are. */
  get length(): number {
    return this.#length;
  }

  add(chunk: Buffer): void {
    this.#length += chunk.length;
    this.#loose.push(chunk);
    if (this.#loose.length < MAX_LOOSE) return;
    this.#joined.push(Buffer.concat(this.#loose));
    this.#loose = [];
  }

  /** All of them as one; none are left. */
  take(): Buffer {
    const [only] = this.#loose;
    const all =
      only && this.#loose.length === 1 && this.#joined.length === 0
        ? only
        : Buffer.concat([...this.#joined, ...this.#loose], this.#length);
    this.clear();
    return all;
  }

  /** Forgets them. */
  clear(): void {
    this.#joined = [];
    this.#loose = [];
    this.#length = 0;
  }
}
