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

/** Estimates the bytes of plain data, to bound queues by it. Stops counting at `limit`. */
export function weightOf(data: unknown, limit: number): number {
  let weight = 0;
  const left: object[] = [];
  const weigh = (part: unknown): void => {
    weight += 8;
    if (typeof part === "string") weight += part.length;
    else if (typeof part === "object" && part !== null) left.push(part);
  };
  weigh(data);
  for (let value = left.pop(); value !== undefined && weight < limit; value = left.pop()) {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) weight += value.byteLength;
    else for (const part of Array.isArray(value) ? value : Object.values(value)) weigh(part);
  }
  return weight;
}
