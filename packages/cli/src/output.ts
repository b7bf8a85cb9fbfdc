import { once } from "node:events";
import { systemCode } from "./errors.ts";

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

/** Prints a command's result. */
export function print(text: string): void {
  process.stdout.write(text);
}

/** Tells a person something beside the result of a command. */
export type Notice = (message: string) => void;

/** Notices on stderr: a line for people, a JSON document for programs. */
export function noticeOnStderr(json: boolean | undefined): Notice {
  return (message) => {
    process.stderr.write(json ? `${JSON.stringify({ notice: { message } })}\n` : `reins: ${message}\n`);
  };
}
