import type { ServerResponse } from "node:http";
import { type Clock, SseWriter, sseText } from "@reins/kit";
import type { McpLimits } from "../../limits.ts";
import type { Message } from "../../wire/message.ts";

/** Sends messages to an agent as server-sent events. */
export class EventWriter {
  readonly #response: ServerResponse;
  readonly #events: SseWriter;

  constructor(response: ServerResponse, { keepAliveMs, bufferedBytes }: McpLimits, clock: Clock) {
    this.#response = response;
    const limits = { keepAliveMs, maxBufferedBytes: bufferedBytes, stallMs: Number.POSITIVE_INFINITY };
    this.#events = new SseWriter(response, clock, limits, { "cache-control": "no-cache, no-transform" });
  }

  /** Sends a message. Returns false if the agent has gone. */
  write(message: Message): boolean {
    return this.writeText(JSON.stringify(message));
  }

  writeText(data: string): boolean {
    if (this.#events.closed.aborted || !this.#response.writable) return false;
    // An agent that does not read must not be able to fill our memory.
    if (this.#events.push(sseText({ event: "message", data }))) this.#response.destroy();
    return true;
  }

  end(): void {
    this.#events.end();
  }
}
