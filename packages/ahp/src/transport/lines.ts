import { isUtf8 } from "node:buffer";
import type { Readable, Writable } from "node:stream";
import type { Wire, WireEvents } from "../client/stream-transport.ts";
import type { Peer } from "../server/handlers.ts";
import type { AhpServer } from "../server/server.ts";
import { Chunks } from "./chunks.ts";
import { Connection, type ConnectionLimits } from "./connection.ts";

/** A connection over a pair of byte streams. */
export interface LineConnection {
  /** Settles when the peer is gone and nothing is under way. */
  readonly closed: Promise<void>;
  /** Answers what is under way, then ends the output. */
  end(): Promise<void>;
  /** Ends at once. */
  destroy(): void;
}

/**
 * Serves one peer that sends a JSON document per line and gets the replies the same way. `keepOutput` leaves
 * the output open at the end, for streams that belong to the process.
 */
export function serveLines(
  server: AhpServer,
  peer: Peer,
  bounds: ConnectionLimits,
  streams: { readonly input: Readable; readonly output: Writable; readonly keepOutput?: boolean },
): LineConnection {
  const { input, output } = streams;
  const writer = new LineWriter(output);
  const closed = Promise.withResolvers<void>();
  let finished: Promise<void> | undefined;
  const connection = new Connection(
    server,
    {
      send: (text) => writer.write(text),
      get buffered() {
        return writer.buffered;
      },
      pause: () => input.pause(),
      resume: () => input.resume(),
      close() {
        finished = writer.finish(streams.keepOutput ?? false);
      },
      destroy,
    },
    peer,
    bounds,
  );
  const splitter = new LineSplitter(
    { line: (text) => connection.receive(text), refused: (fault) => connection.refuse(fault) },
    bounds.limits.maxMessageBytes,
  );

  function destroy(): void {
    connection.lost();
    input.destroy();
    output.destroy();
    closed.resolve();
  }

  async function end(): Promise<void> {
    await connection.end();
    await finished;
    closed.resolve();
  }

  input.on("data", (chunk: Buffer) => splitter.push(chunk));
  input.on("end", () => {
    splitter.end();
    void end();
  });
  input.on("error", destroy);
  input.on("close", () => {
    if (!input.readableEnded) destroy();
  });
  output.on("drain", () => connection.drained());
  output.on("error", destroy);
  return { closed: closed.promise, end, destroy };
}

/** The client's end of a pair of byte streams: a JSON document per line, both ways. */
export function lineWire(
  streams: { readonly input: Readable; readonly output: Writable },
  events: WireEvents,
  maxMessageBytes: number,
): Omit<Wire, "close"> & { finish(): Promise<void> } {
  const { input, output } = streams;
  const writer = new LineWriter(output);
  const splitter = new LineSplitter({ line: events.message, refused: () => {} }, maxMessageBytes);
  input.on("data", (chunk: Buffer) => splitter.push(chunk));
  input.on("end", () => {
    splitter.end();
    events.closed();
  });
  input.on("error", events.closed);
  output.on("error", events.closed);
  return {
    send: (text) => writer.write(text),
    get buffered() {
      return writer.buffered;
    },
    finish: () => writer.finish(false),
  };
}

/** Writes lines to a stream; those of one turn of the event loop go out together. */
class LineWriter {
  readonly #stream: Writable;
  #pending = "";
  #scheduled = false;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** Bytes, about, that the other side has not taken. */
  get buffered(): number {
    return this.#pending.length + this.#stream.writableLength;
  }

  /** Queues one line. */
  write(text: string): void {
    this.#pending += `${text}\n`;
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  /** Sends what is queued and, unless the stream is to stay open, ends it. Settles when it is on its way. */
  async finish(keepOpen: boolean): Promise<void> {
    this.#flush();
    if (!this.#stream.writable) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stream.once("close", resolve);
    if (keepOpen) this.#stream.write("", () => resolve());
    else this.#stream.end(() => resolve());
    await promise;
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#pending === "" || !this.#stream.writable) return;
    const text = this.#pending;
    this.#pending = "";
    this.#stream.write(text);
  }
}

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
  readonly #held = new Chunks();
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
