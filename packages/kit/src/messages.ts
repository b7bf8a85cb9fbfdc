import type { Readable, Writable } from "node:stream";
import { JsonError } from "./errors.ts";
import { duplicatesAtTop, isRecord, type JsonObject, type MessageListener, readJson } from "./json/parse.ts";
import { type CutLine, LineReader, LineWriter, messageIdIn } from "./lines.ts";

/** A line that is not a message, or that the listener failed on. It is skipped. */
export interface MessageFault {
  readonly kind: /** Longer than a line may be. */
    | "line_too_long"
    /** Not UTF-8, not JSON, or not an object. */
    | "not_a_message"
    /** The listener failed. */
    | "listener_failed";
  /** The beginning of the line, shortened. */
  readonly excerpt: string;
  /** The id of the request, where it is known. */
  readonly id?: string | number | undefined;
  readonly cause?: unknown;
}

/** Receives messages and faults. */
interface MessageSink {
  readonly message: MessageListener;
  readonly fault: (fault: MessageFault) => void;
}

const EXCERPT_LENGTH = 200;

/** Reads one message per line from a byte stream, delivers one at a time, and holds at most one line and one chunk. */
export class MessageReader {
  readonly #stream: Readable;
  readonly #sink: MessageSink;
  readonly #lines: LineReader;
  readonly #ended = Promise.withResolvers<void>();
  /** Lines that are not delivered yet. */
  #waiting: string[] = [];
  #delivering = false;
  #closed = false;

  constructor(stream: Readable, maxLineBytes: number, sink: MessageSink) {
    this.#stream = stream;
    this.#sink = sink;
    this.#lines = new LineReader(
      {
        line: (text) => void this.#waiting.push(text),
        refused: (fault, cut) => this.#refused(fault, cut),
      },
      maxLineBytes,
    );
    stream.on("data", (chunk: Buffer) => {
      // Not before the next chunk, because most listeners are done by then.
      if (this.#delivering) stream.pause();
      this.#lines.push(chunk);
      this.#deliver();
    });
    for (const event of ["end", "close", "error"]) stream.once(event, () => this.#end());
  }

  /** Settles when the stream has ended and the last message has been delivered. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Whether a listener has not settled. */
  get delivering(): boolean {
    return this.#delivering;
  }

  /** Reads and delivers nothing more. */
  close(): void {
    this.#closed = true;
    this.#stream.destroy();
  }

  /** Delivers lines until a listener returns a promise. */
  #deliver(): void {
    if (this.#delivering) return;
    const lines = this.#waiting;
    if (lines.length === 0) return;
    this.#waiting = [];
    for (const [index, line] of lines.entries()) {
      const settling = this.#handle(line);
      if (settling === undefined) continue;
      void this.#deliverAfter(settling, lines, index);
      return;
    }
  }

  /** Waits for the listener of a line, then delivers the rest, one after another. */
  async #deliverAfter(first: Promise<void>, chunk: readonly string[], at: number): Promise<void> {
    this.#delivering = true;
    let settling: Promise<void> | undefined = first;
    let lines = chunk;
    for (let index = at; ; ) {
      try {
        if (settling) await settling;
      } catch (error) {
        this.#fault("listener_failed", lines[index] ?? "", error);
      }
      index += 1;
      if (index === lines.length) {
        lines = this.#waiting;
        this.#waiting = [];
        index = 0;
      }
      const line = lines[index];
      if (line === undefined || this.#closed) break;
      settling = this.#handle(line);
    }
    this.#delivering = false;
    if (this.#stream.readableEnded || this.#stream.destroyed) this.#end();
    else if (this.#stream.isPaused()) this.#stream.resume();
  }

  #end(): void {
    if (this.#delivering) return;
    this.#lines.end();
    this.#deliver();
    if (!this.#delivering) this.#ended.resolve();
  }

  /** Passes a line to the listener; returns its promise if there is one. */
  #handle(line: string): Promise<void> | undefined {
    const message = this.#parse(line);
    if (message === undefined) return undefined;
    try {
      return this.#sink.message(message) ?? undefined;
    } catch (error) {
      this.#fault("listener_failed", line, error);
      return undefined;
    }
  }

  #parse(line: string): JsonObject | undefined {
    try {
      const { value, duplicate } = readJson(line);
      if (!isRecord(value)) this.#fault("not_a_message", line);
      else if (duplicate === undefined) return value;
      else this.#duplicate(line, value, duplicate);
    } catch (cause) {
      this.#fault("not_a_message", line, cause);
    }
    return undefined;
  }

  #refused(fault: "too_large" | "invalid_utf8", cut: CutLine): void {
    if (fault === "too_large") this.#fault("line_too_long", cut.start, undefined, messageIdIn(cut));
    else this.#fault("not_a_message", cut.start, new Error("the line is not UTF-8"));
  }

  /** Refuses a message in which an object has a member twice: another reader may take the other one. */
  #duplicate(line: string, { id }: JsonObject, name: string): void {
    const isKnown = (typeof id === "string" || typeof id === "number") && !duplicatesAtTop(line).has("id");
    this.#fault("not_a_message", line, JsonError.duplicate(name), isKnown ? id : undefined);
  }

  #fault(kind: MessageFault["kind"], line: string, cause?: unknown, id?: string | number): void {
    const excerpt = line.slice(0, EXCERPT_LENGTH);
    this.#sink.fault({
      kind,
      excerpt,
      ...(id !== undefined && { id }),
      ...(cause !== undefined && { cause }),
    });
  }
}

/** Why a message was not sent. */
type MessageErrorCode =
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

const NOT_ACCEPTED = "The process does not accept messages any more.";

/** Writes one message per line to the input of a process. */
export class MessageWriter {
  readonly #lines: LineWriter;
  readonly #maxLineBytes: number;
  #room: PromiseWithResolvers<void> | undefined;
  #closed: MessageError | undefined;

  constructor(stream: Writable, maxLineBytes: number) {
    this.#lines = new LineWriter(stream, () => {
      this.#room?.resolve();
      this.#room = undefined;
    });
    this.#maxLineBytes = maxLineBytes;
    stream.on("error", (cause) => this.close(NOT_ACCEPTED, cause));
    stream.on("close", () => this.close(NOT_ACCEPTED));
  }

  /** Sends a message; resolves when there is room for another. */
  async send(message: JsonObject): Promise<void> {
    if (this.#closed) throw this.#closed;
    const line = lineOf(message);
    if (line.length >= this.#maxLineBytes)
      throw new MessageError(
        "too_large",
        `A message of ${line.length} characters is longer than the ${this.#maxLineBytes} that a line may have.`,
      );
    if (this.#lines.buffered > LINES_WAITING * this.#maxLineBytes)
      throw new MessageError("backed_up", "The process does not read, and too much waits for it.");
    if (!this.#lines.write(line)) throw new MessageError("gone", NOT_ACCEPTED);
    if (!this.#lines.needsDrain) return;
    this.#room ??= Promise.withResolvers();
    await this.#room.promise;
  }

  /** Sends what waits, then ends the stream. */
  end(): void {
    void this.#lines.finish();
    this.#closed ??= new MessageError("gone", "The input of the process has been closed.");
  }

  /** Rejects messages that wait and all later ones. */
  close(reason: string, cause?: unknown): void {
    this.#closed ??= new MessageError("gone", reason, { cause });
    this.#room?.reject(this.#closed);
    this.#room = undefined;
  }
}

/** A message on one line for all readers: some take these two characters, which JSON allows in text, for its end. */
function lineOf(message: JsonObject): string {
  const text = JSON.stringify(message);
  return SEPARATORS.test(text) ? text.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029") : text;
}

const SEPARATORS = /[\u2028\u2029]/;
