import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { duplicatesAtTop, readJson } from "../json/parse.ts";
import { JsonError } from "../json/scan.ts";
import type { MessageFault } from "./fault.ts";
import { HeldLine } from "./held-line.ts";

/** A message: an object of JSON, as it came. */
export type JsonObject = Record<string, unknown>;

/** Takes a message. Until the promise settles, no other is delivered, and before long none is read. */
export type MessageListener = (message: JsonObject) => void | Promise<void>;

/** Where messages and faults go. */
export interface MessageSink {
  readonly message: MessageListener;
  readonly fault: (fault: MessageFault) => void;
}

const NEWLINE = 0x0a;
const EXCERPT_LENGTH = 200;
/** How much of the begin and the end of a line that is too long is looked at for its id. */
const START_LENGTH = 4_096;
const END_LENGTH = 512;

/** Reads a message per line from a stream of bytes, one at a time, and holds no more than one line and one chunk. */
export class MessageReader {
  readonly #stream: Readable;
  readonly #sink: MessageSink;
  readonly #maxLineBytes: number;
  readonly #ended = Promise.withResolvers<void>();
  readonly #held = new HeldLine();
  #skipping = false;
  /** How a line begins and ends that is too long to be held. */
  #tooLongStart = "";
  #tooLongEnd: Buffer = Buffer.alloc(0);
  #delivering = false;
  /** What came while a message was with the listener: the lines of one chunk. */
  #waiting: readonly string[] = [];
  #closed = false;

  constructor(stream: Readable, maxLineBytes: number, sink: MessageSink) {
    this.#stream = stream;
    this.#maxLineBytes = maxLineBytes;
    this.#sink = sink;
    stream.on("data", (chunk: Buffer) => this.#take(this.#linesOf(chunk)));
    for (const event of ["end", "close", "error"]) stream.once(event, () => this.#end());
  }

  /** Settles when the stream has ended and the last message has been taken. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Whether a message is with the listener, which takes its time. */
  get delivering(): boolean {
    return this.#delivering;
  }

  /** Reads and delivers nothing more. */
  close(): void {
    this.#closed = true;
    this.#stream.destroy();
  }

  #take(lines: readonly string[]): void {
    if (this.#delivering) {
      // No sooner than now, because most promises settle before the next chunk comes.
      this.#stream.pause();
      this.#waiting = this.#waiting.concat(lines);
      return;
    }
    for (let index = 0; index < lines.length; index += 1) {
      const taken = this.#hand(lines[index] ?? "");
      if (taken === undefined) continue;
      void this.#takeSlowly(taken, lines, index);
      return;
    }
  }

  /** Waits for a line that was handed over, then hands over the rest, one by one. */
  async #takeSlowly(first: Promise<void>, lines: readonly string[], at: number): Promise<void> {
    this.#delivering = true;
    let taken: Promise<void> | undefined = first;
    for (let rest = lines, index = at; index < rest.length; ) {
      try {
        if (taken) await taken;
      } catch (error) {
        this.#fault("listener_failed", rest[index] ?? "", error);
      }
      index += 1;
      if (index === rest.length) {
        rest = this.#nextWaiting();
        index = 0;
      }
      if (this.#closed) break;
      taken = this.#hand(rest[index] ?? "");
    }
    this.#delivering = false;
    if (this.#stream.readableEnded || this.#stream.destroyed) this.#end();
    else if (this.#stream.isPaused()) this.#stream.resume();
  }

  #nextWaiting(): readonly string[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  #end(): void {
    if (this.#delivering) return;
    if (this.#skipping) this.#completed(Buffer.alloc(0));
    if (this.#held.length > 0) this.#take(this.#decode(this.#held.take()));
    if (!this.#delivering) this.#ended.resolve();
  }

  /** Gives a line to the listener; the promise, if there is one, is for when it has been taken. */
  #hand(line: string): Promise<void> | undefined {
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
    // Some programs send blank lines, or end theirs as Windows does.
    if (line === "" || line === "\r") return undefined;
    try {
      const { value, duplicate } = readJson(line);
      if (!isObject(value)) this.#fault("not_a_message", line);
      else if (duplicate === undefined) return value;
      else this.#duplicate(line, value, duplicate);
    } catch (cause) {
      this.#fault("not_a_message", line, cause);
    }
    return undefined;
  }

  /** The lines that a chunk completes, some of them empty. */
  #linesOf(chunk: Buffer): string[] {
    const last = chunk.lastIndexOf(NEWLINE);
    if (last < 0) {
      this.#hold(chunk);
      return [];
    }
    // Mostly it is a message, or several, and nothing else.
    if (!this.#partial && last === chunk.length - 1) return this.#decode(chunk);
    const first = this.#partial ? chunk.indexOf(NEWLINE) + 1 : 0;
    const whole = this.#partial ? this.#completed(chunk.subarray(0, first - 1)) : undefined;
    const lines = whole ? this.#decode(whole) : [];
    const others = this.#decode(chunk.subarray(first, last + 1));
    this.#hold(chunk.subarray(last + 1));
    return lines.concat(others);
  }

  /** Whether the line that is being read began in an earlier chunk. */
  get #partial(): boolean {
    return this.#held.length > 0 || this.#skipping;
  }

  /** The line that ends with these bytes, unless it was too long. */
  #completed(end: Buffer): Buffer | undefined {
    this.#hold(end);
    if (!this.#skipping) return this.#held.take();
    this.#skipping = false;
    this.#tooLong(this.#tooLongStart, this.#tooLongEnd.toString());
    return undefined;
  }

  #hold(part: Buffer): void {
    if (this.#skipping) this.#tooLongEnd = Buffer.concat([this.#tooLongEnd, part]).subarray(-END_LENGTH);
    if (this.#skipping || part.length === 0) return;
    if (this.#held.length + part.length <= this.#maxLineBytes) {
      this.#held.add(part);
      return;
    }
    const start = this.#held.length > 0 ? this.#held.take() : part;
    this.#skipping = true;
    this.#tooLongStart = start.toString("utf8", 0, START_LENGTH);
    this.#tooLongEnd = part.subarray(-END_LENGTH);
  }

  /** Lines are decoded together, which is much cheaper; only bad bytes and a tight bound make it look at each. */
  #decode(lines: Buffer): string[] {
    if (lines.length <= this.#maxLineBytes && isUtf8(lines)) return lines.toString().split("\n");
    const good: string[] = [];
    for (let start = 0; start <= lines.length; ) {
      const newline = lines.indexOf(NEWLINE, start);
      const end = newline < 0 ? lines.length : newline;
      const line = lines.subarray(start, end);
      if (line.length > this.#maxLineBytes)
        this.#tooLong(line.toString("utf8", 0, START_LENGTH), line.subarray(-END_LENGTH).toString());
      else if (isUtf8(line)) good.push(line.toString());
      else this.#fault("not_a_message", line.toString(), new Error("the line is not UTF-8"));
      start = end + 1;
    }
    return good;
  }

  #tooLong(start: string, end: string): void {
    const id = idIn(start, end);
    const excerpt = start.slice(0, EXCERPT_LENGTH);
    this.#sink.fault({ kind: "line_too_long", excerpt, ...(id !== undefined && { id }) });
  }

  /** Refuses a message in which an object has a member twice: another reader may take the other one. */
  #duplicate(line: string, { id }: JsonObject, name: string): void {
    const isKnown = (typeof id === "string" || typeof id === "number") && !duplicatesAtTop(line).has("id");
    this.#sink.fault({
      kind: "not_a_message",
      excerpt: line.slice(0, EXCERPT_LENGTH),
      cause: JsonError.duplicate(name),
      ...(isKnown && { id }),
    });
  }

  #fault(kind: MessageFault["kind"], line: string, cause?: unknown): void {
    this.#sink.fault({ kind, excerpt: line.slice(0, EXCERPT_LENGTH), ...(cause !== undefined && { cause }) });
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const ID = /"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)/;

/** The id of a request that is too long to be read: before its params, or after them. */
function idIn(start: string, end: string): string | number | undefined {
  const [before = ""] = start.split(/"(?:params|result|error)"\s*:/, 1);
  const after = /[}\]"\d]\s*,\s*("id"[^{}[\]]*)\}\s*$/.exec(end)?.[1] ?? "";
  const found = (ID.exec(before) ?? ID.exec(after))?.[1];
  if (found === undefined) return undefined;
  const id: unknown = JSON.parse(found);
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}
