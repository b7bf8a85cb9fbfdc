const NEWLINE = 0x0a;

/** A line longer than this ends the connection; no answer of a harness needs as much. */
const MAX_LINE = 64 * 1024 * 1024;

/** Cuts a stream of bytes into lines. */
export class Lines {
  #parts: Buffer[] = [];
  #length = 0;

  /** The lines that a chunk completes. Throws when a line grows out of bounds. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, at));
      lines.push(this.#take());
      start = at + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  #keep(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > MAX_LINE) throw new RangeError(`a line of more than ${MAX_LINE} bytes`);
    if (part.length > 0) this.#parts.push(part);
  }

  #take(): string {
    const line = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#length = 0;
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }
}
