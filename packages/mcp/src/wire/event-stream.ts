import { StringDecoder } from "node:string_decoder";

/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** What a stream said about taking it up again. */
export interface Resumption {
  lastEventId: string | undefined;
  retryMs: number | undefined;
}

/** An event was larger than the bound. */
export class EventTooLarge extends Error {
  override readonly name = "EventTooLarge";
}

/** Reads the events of a stream as they come; throws {@link EventTooLarge}, or what the stream throws. */
export async function* readEvents(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
  resumption: Resumption,
): AsyncGenerator<StreamEvent> {
  const decoder = new StringDecoder("utf8");
  const pending = new PendingEvent(resumption);
  let held: string[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const text = decoder.write(Buffer.from(chunk));
    held.push(text);
    length += text.length;
    // A long line comes in many pieces, and each is looked at once.
    if (/[\r\n]/.test(text)) {
      const lines = held.join("").split(/\r\n|\n|\r(?!$)/);
      const rest = lines.pop() ?? "";
      held = [rest];
      length = rest.length;
      for (const line of lines) {
        const event = pending.take(line);
        if (event) yield event;
      }
    }
    if (length + pending.length > maxBytes)
      throw new EventTooLarge(`an event of more than ${maxBytes} bytes`);
  }
}

class PendingEvent {
  readonly #resumption: Resumption;
  #event = "message";
  #data: string[] = [];
  #length = 0;

  constructor(resumption: Resumption) {
    this.#resumption = resumption;
  }

  get length(): number {
    return this.#length;
  }

  /** Takes a line; gives the event that it ends. */
  take(line: string): StreamEvent | undefined {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    switch (field) {
      case "data":
        this.#data.push(value);
        this.#length += value.length + 1;
        break;
      case "event":
        this.#event = value;
        break;
      case "id":
        if (!value.includes("\0")) this.#resumption.lastEventId = value;
        break;
      case "retry":
        if (/^\d{1,9}$/.test(value)) this.#resumption.retryMs = Number(value);
        break;
    }
    return undefined;
  }

  #dispatch(): StreamEvent | undefined {
    const event = this.#data.length > 0 ? { event: this.#event, data: this.#data.join("\n") } : undefined;
    this.#event = "message";
    this.#data = [];
    this.#length = 0;
    return event;
  }
}
