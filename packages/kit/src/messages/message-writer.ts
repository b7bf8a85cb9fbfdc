import type { Writable } from "node:stream";
import type { JsonObject } from "./message-reader.ts";

/** Why a message was not sent. */
export type MessageErrorCode =
  /** The reader has ended, or the stream has been closed. */
  | "gone"
  /** The message is longer than a line may be. */
  | "too_large"
  /** The other side does not read, and too much waits for it. */
  | "backed_up";

/** A message that was not sent. */
export class MessageError extends Error {
  override readonly name = "MessageError";
  readonly code: MessageErrorCode;

  constructor(code: MessageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** How many lines of the greatest length may wait for a process that does not read. */
const LINES_WAITING = 2;

/** Writes a message per line to a stream: the first at once, what follows in the same turn of the event loop together. */
export class MessageWriter {
  readonly #stream: Writable;
  readonly #maxLineBytes: number;
  #waiting: PromiseWithResolvers<void> | undefined;
  #closed: MessageError | undefined;
  #corked = false;

  constructor(stream: Writable, maxLineBytes: number) {
    this.#stream = stream;
    this.#maxLineBytes = maxLineBytes;
    stream.on("drain", () => this.#drained());
    stream.on("error", (cause) => this.#fail("The process does not take messages any more.", cause));
    stream.on("close", () => this.#fail("The process does not take messages any more."));
  }

  /** Sends a message; settles when there is room for another. */
  async send(message: JsonObject): Promise<void> {
    if (this.#closed) throw this.#closed;
    const line = `${lineOf(message)}\n`;
    if (line.length > this.#maxLineBytes)
      throw new MessageError(
        "too_large",
        `A message of ${line.length} characters is longer than the ${this.#maxLineBytes} that a line may have.`,
      );
    if (this.#stream.writableLength > LINES_WAITING * this.#maxLineBytes)
      throw new MessageError("backed_up", "The process does not read, and too much waits for it.");
    const hasRoom = this.#stream.write(line);
    this.#cork();
    if (hasRoom) return;
    this.#waiting ??= Promise.withResolvers();
    await this.#waiting.promise;
  }

  /** Sends what waits, then ends the stream. */
  end(): void {
    this.#stream.end();
    this.#closed ??= new MessageError("gone", "The input of the process has been closed.");
  }

  /** Fails what waits and whatever is sent from now on. */
  close(reason: string): void {
    this.#fail(reason);
  }

  #cork(): void {
    if (this.#corked) return;
    this.#corked = true;
    this.#stream.cork();
    process.nextTick(() => {
      this.#corked = false;
      this.#stream.uncork();
    });
  }

  #drained(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  #fail(reason: string, cause?: unknown): void {
    this.#closed ??= new MessageError("gone", reason, { cause });
    this.#waiting?.reject(this.#closed);
    this.#waiting = undefined;
  }
}

/** A message on one line for everybody: some take these two characters, which JSON allows in text, for the end of one. */
function lineOf(message: JsonObject): string {
  const text = JSON.stringify(message);
  return SEPARATORS.test(text) ? text.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029") : text;
}

const SEPARATORS = /[\u2028\u2029]/;
