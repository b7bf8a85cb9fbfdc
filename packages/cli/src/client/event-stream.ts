import { Unreachable } from "./transport.ts";

export interface ServerEvent {
  readonly id: string;
  readonly event: string;
  /** Absent where the server only sends its position. */
  readonly data?: string;
}

/** An approval is at most a megabyte. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024;
const LINE_END = /\r\n|\n|\r(?!$)/;

export async function* serverEvents(text: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  const reading = new EventParser();
  let held: string[] = [];
  let length = 0;
  for await (const piece of text) {
    held.push(piece);
    length += piece.length;
    // Searches each chunk once, because a long line comes in many.
    const lines = /[\r\n]/.test(piece) ? held.join("").split(LINE_END) : undefined;
    if (lines) {
      held = [lines.pop() ?? ""];
      length = held[0]?.length ?? 0;
    }
    if (length > MAX_EVENT_LENGTH) throw eventTooLong();
    if (!lines) continue;
    for (const line of lines) {
      const event = reading.take(line);
      if (event) yield event;
    }
  }
}

class EventParser {
  #id = "";
  #placed = false;
  #event = "";
  #data: string[] = [];
  #length = 0;

  take(line: string): ServerEvent | undefined {
    if (line === "") return this.#end();
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === "id") {
      this.#id = value;
      this.#placed = true;
    }
    if (name === "event") this.#event = value;
    if (name !== "data") return undefined;
    this.#length += value.length;
    if (this.#length > MAX_EVENT_LENGTH) throw eventTooLong();
    this.#data.push(value);
    return undefined;
  }

  #end(): ServerEvent | undefined {
    const event = { id: this.#id, event: this.#event || "message" };
    const [data, placed] = [this.#data, this.#placed];
    this.#event = "";
    this.#data = [];
    this.#length = 0;
    this.#placed = false;
    if (data.length > 0) return { ...event, data: data.join("\n") };
    return placed ? event : undefined;
  }
}

function eventTooLong(): Unreachable {
  return new Unreachable(
    "An event is too long to be one of Reins.",
    "Check that a Reins runs at the address.",
  );
}
