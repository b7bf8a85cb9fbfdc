import type { Writable } from "node:stream";

/** Writes lines to a stream; those of one turn of the event loop go out together. */
export class LineWriter {
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
