import {
  EventTooLarge,
  exponentialBackoff,
  readSse,
  type ServerSentEvent,
  SseParser,
  sleep,
} from "@reins/kit";
import { errorIn, isModern, isObject, kindOf, type Message, objectIn, readMessages } from "../message.ts";
import {
  type HttpParts,
  HttpRequests,
  mediaType,
  NotDelivered,
  type OutgoingMessage,
  readText,
} from "./http-requests.ts";
import type { Loss, OpenLink, Sending, ServerEvents, ServerLink } from "./server-run.ts";

/** How often a broken stream is resumed before its request fails. */
const MOST_RESUMPTIONS = 5;

/** Speaks to a server over Streamable HTTP. */
export function httpLink(parts: HttpParts): OpenLink {
  return async (events) => new HttpLink(parts, events);
}

interface Request {
  readonly id: number;
  readonly message: Message;
  readonly signal: AbortSignal;
  isAnswered: boolean;
}

class HttpLink implements ServerLink {
  readonly #parts: HttpParts;
  readonly #events: ServerEvents;
  readonly #http: HttpRequests;
  readonly #end = new AbortController();
  /** Requests that stand for themselves, which are cancelled by hanging up. */
  readonly #modern = new Map<number, AbortController>();
  readonly #work = new Set<Promise<void>>();
  #isClosed = false;

  constructor(parts: HttpParts, events: ServerEvents) {
    this.#parts = parts;
    this.#events = events;
    this.#http = new HttpRequests(parts);
  }

  send(message: Message, sending?: Sending): void {
    const { id } = message;
    const outgoing: OutgoingMessage = { message, body: JSON.stringify(message), sending };
    const isRequest = kindOf(message) === "request" && typeof id === "number";
    const work = isRequest ? this.#ask(id, outgoing) : this.#notify(outgoing);
    const kept = work.finally(() => this.#work.delete(kept));
    this.#work.add(kept);
  }

  cancel(id: number, notification: Message): void {
    const modern = this.#modern.get(id);
    if (modern) modern.abort();
    else this.send(notification);
  }

  async close(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#work);
    await this.#http.leave();
    this.#closed({ text: `the MCP server ${this.#parts.server.name} was left`, delivered: true });
  }

  /** Posts what needs no answer. A server that does not take it is found out when it is next asked. */
  async #notify(outgoing: OutgoingMessage): Promise<void> {
    const isIntroduced = outgoing.message.method === "notifications/initialized";
    try {
      const response = await this.#http.post(outgoing, this.#end.signal);
      await response.body?.cancel();
      if (!response.ok || !isIntroduced) return;
    } catch {
      return;
    }
    await this.#listen();
  }

  /** Posts a request and reads what comes back until it is answered. Never rejects. */
  async #ask(id: number, outgoing: OutgoingMessage): Promise<void> {
    const { message } = outgoing;
    const unwanted = new AbortController();
    if (isModern(message)) this.#modern.set(id, unwanted);
    const signal = AbortSignal.any([this.#end.signal, unwanted.signal]);
    const request: Request = { id, message, signal, isAnswered: false };
    try {
      const response = await this.#http.post(outgoing, signal);
      if (message.method === "initialize") {
        this.#http.session.id = response.headers.get("mcp-session-id") ?? undefined;
      }
      await this.#read(request, response);
    } catch (error) {
      if (!request.isAnswered) this.#events.lost(id, this.#http.loss(error));
    } finally {
      this.#modern.delete(id);
    }
  }

  async #read(request: Request, response: Response): Promise<void> {
    const { messageBytes } = this.#parts.limits;
    if (response.ok && mediaType(response) === "text/event-stream")
      return this.#readStream(request, response);
    const messages = (readMessages(await readText(response, messageBytes)) ?? []).filter(isObject);
    const isForgotten = response.status === 404 && this.#http.session.id !== undefined;
    if (isForgotten && request.message.method !== "initialize") return this.#forgotten(request);
    // An error from before the request was parsed may lack its id.
    const refusal = response.ok ? undefined : messages.find((message) => errorIn(message) !== undefined);
    if (refusal) return this.#deliver({ ...refusal, id: request.id }, request);
    for (const message of messages) this.#deliver(message, request);
    if (request.isAnswered) return;
    const text = `HTTP status ${response.status}`;
    throw response.status >= 400 && response.status < 500 ? new NotDelivered(text) : new Error(text);
  }

  /** Reads a stream until the request is answered, and resumes it where it broke. */
  async #readStream(request: Request, first: Response): Promise<void> {
    const { limits, clock } = this.#parts;
    const resumption: Resumption = { lastEventId: undefined, retryMs: undefined };
    let response = first;
    for (let resumptions = 0; ; resumptions += 1) {
      const { brokeOff } = await this.#follow(response, resumption, request);
      if (request.isAnswered) return;
      request.signal.throwIfAborted();
      const mayResume = resumption.lastEventId !== undefined && resumptions < MOST_RESUMPTIONS;
      if (!mayResume || brokeOff instanceof EventTooLarge) throw brokeOff;
      await sleep(resumption.retryMs ?? limits.firstBackoffMs, clock, request.signal);
      response = await this.#http.stream(request.signal, resumption.lastEventId);
      if (!response.ok) throw new Error(`its stream broke off: HTTP status ${response.status}`);
    }
  }

  /** Reads the server's own stream, where it has one, while the session lasts. */
  async #listen(): Promise<void> {
    const { limits, clock } = this.#parts;
    const { signal } = this.#end;
    const resumption: Resumption = { lastEventId: undefined, retryMs: undefined };
    const backoff = { firstMs: limits.firstBackoffMs, mostMs: limits.mostBackoffMs };
    let failures = 1;
    while (!signal.aborted) {
      const response = await this.#http.stream(signal, resumption.lastEventId).catch(() => undefined);
      if (response && (!response.ok || mediaType(response) !== "text/event-stream")) {
        await response.body?.cancel();
        return;
      }
      if (response) await this.#follow(response, resumption, undefined);
      // A server may want to be asked later, but not without end.
      await sleep(Math.max(resumption.retryMs ?? 0, exponentialBackoff(backoff, failures)), clock, signal);
      failures = response ? 1 : failures + 1;
    }
  }

  #follow(response: Response, resumption: Resumption, request: Request | undefined) {
    return follow(response, this.#parts.limits.messageBytes, resumption, {
      message: (message) => this.#deliver(message, request),
      malformed: () => this.#events.skipped("malformed"),
      isDone: () => request?.isAnswered === true,
    });
  }

  #deliver(message: Message, request: Request | undefined): void {
    if (request && kindOf(message) === "response" && message.id === request.id) {
      request.isAnswered = true;
      const revision = objectIn(message, "result")?.protocolVersion;
      const isIntroduction = request.message.method === "initialize";
      if (isIntroduction && typeof revision === "string") this.#http.session.revision = revision;
    }
    this.#events.message(message);
  }

  /** The server has forgotten the session: the request may be sent again, and everything else starts anew. */
  #forgotten(request: Request): void {
    const text = `the MCP server ${this.#parts.server.name} has forgotten the session`;
    this.#http.session.id = undefined;
    request.isAnswered = true;
    this.#events.lost(request.id, { text, delivered: false, forgotten: true });
    this.#end.abort();
    this.#closed({ text, delivered: true });
  }

  #closed(loss: Loss): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.closed(loss);
  }
}

/** The position of a stream from which it can be resumed. */
export interface Resumption {
  lastEventId: string | undefined;
  retryMs: number | undefined;
}

/** What is done with the messages of a stream. */
export interface Follower {
  message(message: Message): void;
  /** An event that holds no message. */
  malformed(): void;
  /** Whether that was all that was waited for. */
  isDone(): boolean;
}

/** Follows a stream until all is there that was waited for; gives what ended it before, if anything did. */
async function follow(
  response: Response,
  maxBytes: number,
  resumption: Resumption,
  follower: Follower,
): Promise<{ readonly brokeOff?: unknown }> {
  try {
    for await (const event of eventsOf(response, maxBytes, resumption)) {
      if (event.event === "message" && event.data !== undefined) deliver(event.data, follower);
      if (follower.isDone()) return {};
    }
    return { brokeOff: new Error("the stream ended") };
  } catch (error) {
    return { brokeOff: error };
  }
}

/** The events of a response that is a stream. */
export async function* eventsOf(
  { body }: Response,
  maxLength: number,
  resumption: Resumption,
): AsyncGenerator<ServerSentEvent> {
  if (!body) return;
  const parser = new SseParser(maxLength);
  const note = () => {
    resumption.lastEventId = parser.lastEventId ?? resumption.lastEventId;
    resumption.retryMs = parser.retryMs ?? resumption.retryMs;
  };
  try {
    for await (const event of readSse(body, parser)) {
      note();
      yield event;
    }
  } finally {
    note();
  }
}

/** Hands over the messages in a text. */
export function deliver(text: string, follower: Pick<Follower, "message" | "malformed">): void {
  for (const message of readMessages(text) ?? [undefined]) {
    if (isObject(message)) follower.message(message);
    else follower.malformed();
  }
}
