import type { ServerResponse } from "node:http";
import type { Clock } from "@reins/kit";
import type { McpLimits } from "../../limits.ts";
import type { Message } from "../../wire/message.ts";

/** Writes messages to an agent as a stream of events, and keeps the stream alive while there are none. */
export class EventWriter {
  readonly #response: ServerResponse;
  readonly #limits: McpLimits;
  readonly #clock: Clock;
  #callOff: (() => void) | undefined;

  constructor(response: ServerResponse, limits: McpLimits, clock: Clock) {
    this.#response = response;
    this.#limits = limits;
    this.#clock = clock;
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
    });
    response.flushHeaders();
    response.once("close", () => this.#callOff?.());
    this.#keepAlive();
  }

  /** Sends a message. Says whether anybody is there. */
  write(message: Message): boolean {
    return this.writeText(JSON.stringify(message));
  }

  /** Sends a message that is text already. */
  writeText(message: string): boolean {
    return this.#send(`event: message\ndata: ${message}\n\n`);
  }

  end(): void {
    this.#response.end();
  }

  #send(text: string): boolean {
    if (!this.#response.writable) return false;
    this.#response.write(text);
    // An agent that does not listen must not be able to fill our memory.
    if (this.#response.writableLength > this.#limits.bufferedBytes) this.#response.destroy();
    return true;
  }

  #keepAlive(): void {
    this.#callOff = this.#clock.after(this.#limits.keepAliveMs, () => {
      if (this.#send(": still here\n\n")) this.#keepAlive();
    });
  }
}
