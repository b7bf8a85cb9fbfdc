import { isUtf8 } from "node:buffer";
import type { Writable } from "node:stream";

const MIN_CAPACITY = 1 << 12;

/** Bytes that arrive in chunks. Copies them, so that a caller may reuse a chunk; chunks of one byte cost linear time. */
export class ByteBuffer {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(MIN_CAPACITY, 2 * length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  /** Returns all bytes and empties the buffer. */
  take(): Buffer {
    const all = this.#bytes.subarray(0, this.#length);
    this.clear();
    return all;
  }

  clear(): void {
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }
}

/** The two ends of a refused line. */
export interface CutLine {
  readonly start: string;
  readonly end: string;
}

/** Receives the lines of a byte stream. */
export interface LineSink {
  line(text: string): void;
  /** A line that is longer than the limit or not UTF-8. The next line is read as usual. */
  refused(fault: "too_large" | "invalid_utf8", cut: CutLine): void;
}

const NEWLINE = 0x0a;
const START_BYTES = 4_096;
const END_BYTES = 512;

/** Splits a byte stream into lines of text. Accepts CRLF, skips empty lines, and holds at most one line up to the limit. */
export class LineReader {
  readonly #sink: LineSink;
  readonly #maxBytes: number;
  readonly #held = new ByteBuffer();
  /** The ends of a line that has exceeded the limit. */
  #cut: { start: Buffer; end: Buffer } | undefined;

  constructor(sink: LineSink, maxBytes: number) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    const last = chunk.lastIndexOf(NEWLINE);
    if (last < 0) {
      this.#hold(chunk);
      return;
    }
    let start = 0;
    if (this.#held.length > 0 || this.#cut) {
      start = chunk.indexOf(NEWLINE) + 1;
      this.#hold(chunk.subarray(0, start - 1));
      this.#finish();
    }
    if (start < last) this.#emitAll(chunk.subarray(start, last));
    this.#hold(chunk.subarray(last + 1));
  }

  /** Ends the stream. The last line needs no newline. */
  end(): void {
    this.#finish();
  }

  #hold(part: Buffer): void {
    if (part.length === 0) return;
    if (!this.#cut && this.#held.length + part.length <= this.#maxBytes) {
      this.#held.add(part);
      return;
    }
    const held = this.#held.take();
    const { start, end } = this.#cut ?? { start: held, end: held };
    this.#cut = { start: firstBytes(start, part), end: lastBytes(end, part) };
  }

  #finish(): void {
    const cut = this.#cut;
    this.#cut = undefined;
    if (cut) this.#sink.refused("too_large", { start: cut.start.toString(), end: cut.end.toString() });
    else if (this.#held.length > 0) this.#emit(this.#held.take());
  }

  /** Decodes whole lines together, which is much cheaper; looks at each only if one of them may be refused. */
  #emitAll(lines: Buffer): void {
    if (lines.length <= this.#maxBytes && isUtf8(lines)) {
      for (const text of lines.toString().split("\n")) this.#emitText(text);
      return;
    }
    for (let start = 0; start <= lines.length; ) {
      const newline = lines.indexOf(NEWLINE, start);
      const end = newline < 0 ? lines.length : newline;
      this.#emit(lines.subarray(start, end));
      start = end + 1;
    }
  }

  #emit(line: Buffer): void {
    if (line.length > this.#maxBytes) this.#sink.refused("too_large", endsOf(line));
    else if (isUtf8(line)) this.#emitText(line.toString());
    else this.#sink.refused("invalid_utf8", endsOf(line));
  }

  #emitText(line: string): void {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    if (text.length > 0) this.#sink.line(text);
  }
}

function firstBytes(before: Buffer, part: Buffer): Buffer {
  if (before.length >= START_BYTES) return before.subarray(0, START_BYTES);
  return Buffer.concat([before, part.subarray(0, START_BYTES - before.length)]);
}

function lastBytes(before: Buffer, part: Buffer): Buffer {
  return Buffer.concat([before.subarray(-END_BYTES), part.subarray(-END_BYTES)]).subarray(-END_BYTES);
}

function endsOf(line: Buffer): CutLine {
  return { start: line.toString("utf8", 0, START_BYTES), end: line.subarray(-END_BYTES).toString() };
}

const MEMBER = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"`;
const ID = String.raw`"id"\s*:\s*(0|-?[1-9]\d{0,15}|"[^"\\\x00-\x1f]*")`;
const LEADING = new RegExp(String.raw`^\s*\{\s*(?:${MEMBER}\s*,\s*)*${ID}\s*,`);
const TRAILING = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*${MEMBER}\s*)*\}\s*$`);

/** The id of a JSON-RPC message of which only the ends are left, if it is near one of them. */
export function messageIdIn({ start, end }: CutLine): string | number | undefined {
  const found = LEADING.exec(start)?.[1] ?? TRAILING.exec(end)?.[1];
  if (found === undefined) return undefined;
  return found.startsWith('"') ? found.slice(1, -1) : Number(found);
}

/** Longer lines are not joined with others, which would copy them. */
const LONG_LINE = 16 << 10;

/** Writes lines to a stream: the first at once, those that follow in the same tick together. */
export class LineWriter {
  readonly #stream: Writable;
  readonly #onDrain: () => void;
  #pending = "";
  #scheduled = false;

  /** `onDrain` is called when the peer has taken what made {@link needsDrain} true. */
  constructor(stream: Writable, onDrain: () => void = () => {}) {
    this.#stream = stream;
    this.#onDrain = onDrain;
    stream.on("drain", onDrain);
  }

  /** About how many bytes the peer has not taken. */
  get buffered(): number {
    return this.#pending.length + this.#stream.writableLength;
  }

  /** Whether a caller should wait for `onDrain` before it writes more. */
  get needsDrain(): boolean {
    return this.#stream.writableNeedDrain || this.#pending.length >= this.#stream.writableHighWaterMark;
  }

  /** Writes a line without its end. Returns false if the stream has ended. */
  write(line: string): boolean {
    if (!this.#stream.writable) return false;
    if (this.#scheduled && line.length < LONG_LINE) {
      this.#pending += `${line}\n`;
      return true;
    }
    if (this.#scheduled) this.#writePending();
    else process.nextTick(() => this.#flush());
    this.#scheduled = true;
    this.#stream.write(`${line}\n`);
    return true;
  }

  /** Writes what is pending, then ends the stream unless it stays open. Resolves when all of it is handed on. */
  async finish(keepOpen = false): Promise<void> {
    this.#flush();
    if (!this.#stream.writable) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stream.once("close", resolve);
    if (keepOpen) this.#stream.write("", () => resolve());
    else this.#stream.end(() => resolve());
    await promise;
    this.#stream.off("close", resolve);
  }

  #flush(): void {
    this.#scheduled = false;
    this.#writePending();
    // A stream that took all of it at once emits no event.
    if (this.#stream.writable && this.#stream.writableLength === 0) this.#onDrain();
  }

  #writePending(): void {
    const text = this.#pending;
    this.#pending = "";
    if (text !== "" && this.#stream.writable) this.#stream.write(text);
  }
}
