import { once } from "node:events";
import { systemCode } from "./errors/system-code.ts";

/** Where a command writes a long result: no faster than it is read, and not after the reader has gone. */
export class Output {
  readonly #stream: NodeJS.WritableStream;
  readonly #gone = new AbortController();

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    stream.on("error", (error) => {
      if (systemCode(error) !== "EPIPE") throw error;
      this.#gone.abort();
    });
  }

  /** Ends when whoever read has seen enough, such as `head`. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Writes, and waits while the reader is behind. */
  async write(text: string): Promise<void> {
    if (this.gone.aborted || this.#stream.write(text)) return;
    await once(this.#stream, "drain", { signal: this.gone }).catch((error: unknown) => {
      if (!this.gone.aborted && systemCode(error) !== "EPIPE") throw error;
    });
  }
}
