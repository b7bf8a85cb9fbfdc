import type { ServerResponse } from "node:http";
import type { Clock } from "@reins/kit";
import type { McpLimits } from "../../limits.ts";
import { kindOf, type Message } from "../../wire/message.ts";
import type { ReplyTo } from "../agent-link.ts";
import { EventWriter } from "./event-writer.ts";
import { sendJson } from "./reply.ts";

/** How an {@link Exchange} may be answered. */
interface ExchangeOptions {
  /** Whether the agent takes a stream of events. */
  readonly mayStream: boolean;
  /** Whether it asked for several things at once. */
  readonly isBatch: boolean;
  readonly limits: McpLimits;
  readonly clock: Clock;
}

/**
 * One `POST` of the agent, and what goes back: plain JSON where the answer is all there is, a stream of events as soon
 * as there is something to say on the way, or the answer takes its time.
 */
export class Exchange {
  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  readonly #answers: Message[] = [];
  #events: EventWriter | undefined;
  #open = 0;
  #callOff: (() => void) | undefined;

  constructor(response: ServerResponse, options: ExchangeOptions) {
    this.#response = response;
    this.#options = options;
    const { mayStream, limits, clock } = options;
    if (mayStream) this.#callOff = clock.after(limits.keepAliveMs, () => this.#stream());
    response.once("close", () => this.#callOff?.());
  }

  /** Expects one more answer; gives where it goes. */
  expect(): ReplyTo {
    this.#open += 1;
    let isDone = false;
    return {
      send: (message) => void this.push(message),
      done: () => {
        if (isDone) return;
        isDone = true;
        this.#open -= 1;
        if (this.#open === 0) this.#finish();
      },
    };
  }

  /** Sends an answer, or something on the way. Says whether it can be delivered. */
  push(message: Message): boolean {
    if (this.#response.writableEnded || this.#response.destroyed) return false;
    const isAnswer = kindOf(message) === "response";
    if (isAnswer && !this.#events) this.#answers.push(message);
    return (isAnswer && !this.#events) || (this.#options.mayStream && this.#stream().write(message));
  }

  #stream(): EventWriter {
    this.#callOff?.();
    if (this.#events) return this.#events;
    const { limits, clock } = this.#options;
    this.#events = new EventWriter(this.#response, limits, clock);
    for (const answer of this.#answers.splice(0)) this.#events.write(answer);
    return this.#events;
  }

  #finish(): void {
    this.#callOff?.();
    if (this.#response.writableEnded || this.#response.destroyed) return;
    const [only] = this.#answers;
    if (this.#events) this.#events.end();
    else if (only === undefined) this.#response.writeHead(202).end();
    else sendJson(this.#response, 200, JSON.stringify(this.#options.isBatch ? this.#answers : only));
  }
}
