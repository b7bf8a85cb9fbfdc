import { isUtf8 } from "node:buffer";
import { Pieces } from "../pieces.ts";

/** Where the lines of a byte stream go. */
export interface LineSink {
  line(text: string): void;
  /** A line that was thrown away: longer than the bound, or not UTF-8. */
  refused(fault: "too_large" | "invalid_utf8"): void;
}

const NEWLINE = 0x0a;

/** Cuts a stream of bytes into lines of text. Holds at most one line of bounded length. */
export class LineSplitter {
  readonly #sink: LineSink;
  readonly #maxBytes: number;
  readonly #held = new Pieces();
  #skipping = false;

  constructor(sink: LineSink, maxBytes: number) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  /** Takes the next bytes. */
  push(chunk: Buffer): void {
    const first = chunk.indexOf(NEWLINE);
    if (first < 0) {
      this.#hold(chunk);
      return;
    }
    const last = chunk.lastIndexOf(NEWLINE);
    this.#hold(chunk.subarray(0, first));
    this.#finish();
    if (last > first) this.#emitAll(chunk.subarray(first + 1, last));
    if (last + 1 < chunk.length) this.#hold(chunk.subarray(last + 1));
  }

  /** Takes the end of the stream; a last line needs no newline. */
  end(): void {
    if (this.#held.length > 0 || this.#skipping) this.#finish();
  }

  #hold(part: Buffer): void {
    if (this.#skipping || part.length === 0) return;
    this.#skipping = this.#held.length + part.length > this.#maxBytes;
    if (this.#skipping) this.#held.clear();
    else this.#held.add(part);
  }

  #finish(): void {
    const skipped = this.#skipping;
    this.#skipping = false;
    if (skipped) this.#sink.refused("too_large");
    else if (this.#held.length > 0) this.#emit(this.#held.take());
  }

  /** Whole lines are decoded together, which is much cheaper; only bad bytes make it look at each. */
  #emitAll(lines: Buffer): void {
    if (lines.length <= this.#maxBytes && isUtf8(lines)) {
      for (const text of lines.toString().split("\n")) this.#emitText(text);
      return;
    }
    let start = 0;
    while (start <= lines.length) {
      const newline = lines.indexOf(NEWLINE, start);
      const end = newline < 0 ? lines.length : newline;
      if (end - start > this.#maxBytes) this.#sink.refused("too_large");
      else this.#emit(lines.subarray(start, end));
      start = end + 1;
    }
  }

  #emit(line: Buffer): void {
    if (isUtf8(line)) this.#emitText(line.toString());
    else this.#sink.refused("invalid_utf8");
  }

  #emitText(line: string): void {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    if (text.length > 0) this.#sink.line(text);
  }
}
