import { once } from "node:events";
import { systemCode } from "./errors.ts";

/** Writes a long result with back-pressure, and not after the reader closed. */
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

  /** Aborts when the reader closed early, such as `head`. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  async write(text: string): Promise<void> {
    if (this.gone.aborted || this.#stream.write(text)) return;
    await once(this.#stream, "drain", { signal: this.gone }).catch((error: unknown) => {
      if (!this.gone.aborted && systemCode(error) !== "EPIPE") throw error;
    });
  }
}

export function print(text: string): void {
  process.stdout.write(text);
}

/** Reports something beside the result of a command. */
export type Notice = (message: string) => void;

/** A line for people, a JSON document for programs. */
export function noticeOnStderr(json: boolean | undefined): Notice {
  return (message) => {
    process.stderr.write(json ? `${JSON.stringify({ notice: { message } })}\n` : `reins: ${message}\n`);
  };
}
