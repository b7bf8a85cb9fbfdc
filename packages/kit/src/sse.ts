/** One server-sent event. */
export interface ServerSentEvent {
  /** The last id that the stream has sent, of this event or of an earlier one. */
  readonly id: string;
  readonly event: string;
  /** Absent where the server only sent its position. */
  readonly data?: string;
}

/** An event exceeds the limit. */
export class EventTooLarge extends Error {
  override readonly name = "EventTooLarge";
}

/** Parses a `text/event-stream` from chunks with arbitrary borders. Runs in browsers, too. */
export class SseParser {
  readonly #maxLength: number;
  readonly #decoder = new TextDecoder();
  /** The pieces of a line without an end; joined once, because a long line arrives in many. */
  #line: string[] = [];
  #lineLength = 0;
  /** Whether the last chunk ended with a carriage return, which a line feed may follow. */
  #endedWithReturn = false;
  #id: string | undefined;
  #lastEventId: string | undefined;
  #retryMs: number | undefined;
  #event = "";
  #data: string[] = [];
  #dataLength = 0;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** The id of the last complete event that had one. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The pause before a reconnection that the server requested. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** Parses the next bytes; yields the events that they complete. Throws {@link EventTooLarge}. */
  *push(chunk: Uint8Array): Generator<ServerSentEvent> {
    let text = this.#decoder.decode(chunk, { stream: true });
    if (text === "") return;
    if (this.#endedWithReturn && text.startsWith("\n")) text = text.slice(1);
    this.#endedWithReturn = text.endsWith("\r");
    const [first = "", ...others] = text.split(/\r\n|\n|\r/);
    let line = first;
    for (const next of others) {
      const event = this.#take([...this.#line, line].join(""));
      this.#line = [];
      this.#lineLength = 0;
      if (event) yield event;
      line = next;
    }
    this.#line.push(line);
    this.#lineLength += line.length;
    this.#check();
  }

  #take(line: string): ServerSentEvent | undefined {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "retry" && /^\d{1,9}$/.test(value)) this.#retryMs = Number(value);
    else if (field === "data") {
      this.#data.push(value);
      this.#dataLength += value.length + 1;
      this.#check();
    }
    return undefined;
  }

  #dispatch(): ServerSentEvent | undefined {
    const [id, event, data] = [this.#id, this.#event || "message", this.#data];
    this.#lastEventId = id ?? this.#lastEventId;
    this.#id = undefined;
    this.#event = "";
    this.#data = [];
    this.#dataLength = 0;
    const at = { id: this.#lastEventId ?? "", event };
    if (data.length > 0) return { ...at, data: data.join("\n") };
    return id === undefined ? undefined : at;
  }

  #check(): void {
    if (this.#lineLength + this.#dataLength > this.#maxLength)
      throw new EventTooLarge(`an event of more than ${this.#maxLength} characters`);
  }
}

/** Reads the events of a body as they arrive; an event without an end is dropped. */
export async function* readSse(
  chunks: AsyncIterable<Uint8Array>,
  parser: SseParser,
): AsyncGenerator<ServerSentEvent> {
  for await (const chunk of chunks) yield* parser.push(chunk);
}

/** The fields of an event: its data is a JSON value, or a text without line ends. */
interface EventFields {
  readonly id?: string | number;
  readonly event?: string;
  readonly json?: unknown;
  readonly data?: string;
}

/** Formats an event. */
export function sseText({ id, event, json, data = JSON.stringify(json) }: EventFields): string {
  let text = id === undefined ? "" : `id: ${id}\n`;
  if (event !== undefined) text += `event: ${event}\n`;
  if (data !== undefined) text += `data: ${data}\n`;
  return `${text}\n`;
}
