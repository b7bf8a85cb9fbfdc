import { isUtf8 } from "node:buffer";
import { HeldLine } from "@reins/kit";

/** Where the lines of a stream go. */
export interface LineSink {
  line(text: string): void;
  /** A line that was thrown away, and the id of the message in it where that could be seen. */
  refused(fault: "too_large" | "invalid_utf8", id: unknown): void;
}

const NEWLINE = 0x0a;
/** As much of either end of a line that is too long as is kept to find its id. */
const END_BYTES = 512;

/** Cuts a stream of bytes into lines of text. Holds at most one line of bounded length. */
export class Lines {
  readonly #sink: LineSink;
  readonly #maxBytes: number;
  readonly #held = new HeldLine();
  /** Both ends of a line that is too long. */
  #ends: { readonly head: Buffer; tail: Buffer } | undefined;

  constructor(sink: LineSink, maxBytes: number) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  /** Takes the next bytes. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let newline = chunk.indexOf(NEWLINE); newline >= 0; newline = chunk.indexOf(NEWLINE, start)) {
      this.#finish(chunk.subarray(start, newline));
      start = newline + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  /** Takes the end of the stream; a last line needs no newline. */
  end(): void {
    this.#finish(Buffer.alloc(0));
  }

  #hold(part: Buffer): void {
    if (this.#ends) {
      this.#ends.tail = Buffer.concat([this.#ends.tail, part.subarray(-END_BYTES)]).subarray(-END_BYTES);
      return;
    }
    if (this.#held.length + part.length <= this.#maxBytes) {
      this.#held.add(part);
      return;
    }
    const start = Buffer.concat([this.#held.take(), part]);
    this.#ends = {
      head: Buffer.from(start.subarray(0, END_BYTES)),
      tail: Buffer.from(start.subarray(-END_BYTES)),
    };
  }

  #finish(last: Buffer): void {
    if (this.#held.length === 0 && !this.#ends && last.length <= this.#maxBytes) {
      this.#emit(last);
      return;
    }
    this.#hold(last);
    const ends = this.#ends;
    this.#ends = undefined;
    if (ends) this.#sink.refused("too_large", idIn(ends.head.toString(), ends.tail.toString()));
    else this.#emit(this.#held.take());
  }

  #emit(line: Buffer): void {
    const text = line.toString().trim();
    if (!isUtf8(line)) this.#sink.refused("invalid_utf8", undefined);
    else if (text.length > 0) this.#sink.line(text);
  }
}

const ID = String.raw`"id"\s*:\s*(0|-?[1-9]\d*|"[^"\\\x00-\x1f]*")`;
const LEADING = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${ID}\s*,`);
const TRAILING = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`);

/** The id of a message of which only both ends are left; everybody writes it near one of them. */
function idIn(head: string, tail: string): unknown {
  const found = LEADING.exec(head)?.[1] ?? TRAILING.exec(tail)?.[1];
  return found === undefined ? undefined : JSON.parse(found);
}
