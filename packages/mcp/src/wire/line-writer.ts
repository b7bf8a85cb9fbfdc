import type { Writable } from "node:stream";
import type { Message } from "./message.ts";

/** Writes a message per line to a stream; those of one turn of the event loop go out together. */
export class LineWriter {
  readonly #stream: Writable;
  readonly #maxBytes: number;
  #isCorked = false;

  constructor(stream: Writable, maxBytes: number) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
  }

  /**
   * Sends a message. Says whether it can arrive: not if the stream has ended, nor if the other side has left more
   * unread than anybody should keep. Throws when the message cannot be written as JSON.
   */
  write(message: Message): "sent" | "ended" | "unread" {
    const line = `${JSON.stringify(message)}\n`;
    if (!this.#stream.writable) return "ended";
    this.#cork();
    this.#stream.write(line);
    return this.#stream.writableLength > this.#maxBytes ? "unread" : "sent";
  }

  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#stream.cork();
    setImmediate(() => {
      this.#isCorked = false;
      this.#stream.uncork();
    });
  }
}
