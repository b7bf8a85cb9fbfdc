import type { ServerResponse } from "node:http";
import { type Clock, SseWriter, sseText } from "@reins/kit";
import type { McpLimits } from "../limits.ts";
import { errorIn, kindOf, type Message, RPC } from "../message.ts";
import type { AgentLink, ReplyTo } from "../relay/agent-request.ts";
import { sendJson } from "./http-listener.ts";

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

/** How an {@link Exchange} may be answered. */
interface ExchangeOptions {
  /** Whether the agent takes a stream of events. */
  readonly mayStream: boolean;
  /** Whether it asked for several things at once. */
  readonly isBatch: boolean;
  /** Whether the status of an error has to say which, as it does without a session. */
  readonly hasStatus: boolean;
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
  #cancelTimer: (() => void) | undefined;

  constructor(response: ServerResponse, options: ExchangeOptions) {
    this.#response = response;
    this.#options = options;
    const { mayStream, limits, clock } = options;
    if (mayStream) this.#cancelTimer = clock.after(limits.keepAliveMs, () => this.#stream());
    response.once("close", () => this.#cancelTimer?.());
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
    this.#cancelTimer?.();
    if (this.#events) return this.#events;
    const { limits, clock } = this.#options;
    this.#events = new EventWriter(this.#response, limits, clock);
    for (const answer of this.#answers.splice(0)) this.#events.write(answer);
    return this.#events;
  }

  #finish(): void {
    this.#cancelTimer?.();
    if (this.#response.writableEnded || this.#response.destroyed) return;
    const [only] = this.#answers;
    if (this.#events) this.#events.end();
    else if (only === undefined) this.#response.writeHead(202).end();
    else {
      const { isBatch, hasStatus } = this.#options;
      const status = hasStatus && !isBatch ? statusOf(only) : 200;
      sendJson(this.#response, status, JSON.stringify(isBatch ? this.#answers : only));
    }
  }
}

/** The errors whose status says which they are. */
const STATUSES: ReadonlyMap<number, number> = new Map([
  [RPC.methodNotFound, 404],
  [RPC.invalidParams, 400],
  [RPC.headerMismatch, 400],
  [RPC.missingCapability, 400],
  [RPC.unsupportedVersion, 400],
]);

function statusOf(answer: Message): number {
  const error = errorIn(answer);
  return (error && STATUSES.get(error.code)) ?? 200;
}

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
