import type { ServerResponse } from "node:http";
import type { Clock } from "@reins/kit";
import type { McpLimits } from "../../limits.ts";
import type { Message } from "../../wire/message.ts";
import type { AgentLink } from "../agent-link.ts";
import { EventWriter } from "./event-writer.ts";
import type { Exchange } from "./exchange.ts";

/** An agent that comes and goes by HTTP. What it did not ask for reaches it by whatever stream is open. */
export class HttpAgent implements AgentLink {
  readonly #limits: McpLimits;
  readonly #clock: Clock;
  readonly #exchanges = new Set<Exchange>();
  /** What waits for an agent that is not listening at the moment, as text. */
  #queue: string[] = [];
  #queuedLength = 0;
  readonly #comesBack: boolean;
  #stream: { readonly response: ServerResponse; readonly writer: EventWriter } | undefined;

  /** `comesBack` says whether it may open a stream later, so that waiting for it makes sense. */
  constructor(limits: McpLimits, clock: Clock, comesBack: boolean) {
    this.#limits = limits;
    this.#clock = clock;
    this.#comesBack = comesBack;
  }

  /** Whether anything is open. */
  get isThere(): boolean {
    return this.#stream !== undefined || this.#exchanges.size > 0;
  }

  /** Keeps an exchange in mind until its response is closed. */
  began(exchange: Exchange, response: ServerResponse): void {
    this.#exchanges.add(exchange);
    response.once("close", () => this.#exchanges.delete(exchange));
  }

  /** Takes a stream for what the agent did not ask for, in place of the one before. */
  listen(response: ServerResponse): void {
    this.#stream?.writer.end();
    const stream = { response, writer: new EventWriter(response, this.#limits, this.#clock) };
    this.#stream = stream;
    response.once("close", () => {
      if (this.#stream === stream) this.#stream = undefined;
    });
    for (const message of this.#queue) stream.writer.writeText(message);
    this.#queue = [];
    this.#queuedLength = 0;
  }

  push(message: Message): boolean {
    if (this.#stream?.writer.write(message)) return true;
    for (const exchange of this.#exchanges) if (exchange.push(message)) return true;
    return this.#comesBack && this.#wait(JSON.stringify(message));
  }

  #wait(message: string): boolean {
    if (this.#queuedLength + message.length > this.#limits.messageBytes) return false;
    this.#queue.push(message);
    this.#queuedLength += message.length;
    return true;
  }

  /** Ends the stream that is open. */
  hangUp(): void {
    this.#stream?.writer.end();
  }
}
