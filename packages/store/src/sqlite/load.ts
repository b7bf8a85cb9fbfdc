/** How many commits, and about how many bytes in them. */
export interface LoadLimit {
  readonly commits: number;
  readonly bytes: number;
}

/** Counts commits and their bytes against a limit. One commit alone always fits. */
export class Load {
  readonly #limit: LoadLimit;
  #commits = 0;
  #bytes = 0;

  constructor(limit: LoadLimit) {
    this.#limit = limit;
  }

  get commits(): number {
    return this.#commits;
  }

  /** Whether a commit of so many bytes may be added. */
  fits(bytes: number): boolean {
    if (this.#commits === 0) return true;
    return this.#commits < this.#limit.commits && this.#bytes + bytes <= this.#limit.bytes;
  }

  add(bytes: number): void {
    this.#commits += 1;
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#commits -= 1;
    this.#bytes -= bytes;
  }
}
