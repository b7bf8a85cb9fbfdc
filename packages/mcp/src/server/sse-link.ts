import { errorMessage, settlesWithin } from "@reins/kit";
import { kindOf, type Message } from "../message.ts";
import { deliver, eventsOf, type Resumption } from "./http-link.ts";
import { type HttpParts, HttpRequests, mediaType, NotDelivered } from "./http-requests.ts";
import type { OpenLink, ServerEvents, ServerLink } from "./server-run.ts";

/** Speaks to a server in the way of 2024: one stream on which it says everything, and a place to post to. */
export function sseLink(parts: HttpParts): OpenLink {
  return async (events, signal) => {
    const link = new SseLink(parts, events);
    await link.open(signal);
    return link;
  };
}

class SseLink implements ServerLink {
  readonly #parts: HttpParts;
  readonly #events: ServerEvents;
  readonly #http: HttpRequests;
  readonly #end = new AbortController();
  readonly #work = new Set<Promise<void>>();
  readonly #place = Promise.withResolvers<void>();
  #endpoint: URL | undefined;

  constructor(parts: HttpParts, events: ServerEvents) {
    this.#parts = parts;
    this.#events = events;
    this.#http = new HttpRequests(parts);
  }

  /** Opens the stream and waits until the server says where to post to. */
  async open(signal: AbortSignal): Promise<void> {
    const { limits, clock } = this.#parts;
    signal.addEventListener("abort", () => this.#end.abort(), { once: true });
    this.#keep(this.#follow());
    if (!(await settlesWithin(this.#place.promise, limits.startMs, clock))) {
      this.#place.reject(new NotDelivered(`it did not say where to post to within ${limits.startMs} ms`));
      this.#end.abort();
    }
    await this.#place.promise;
  }

  send(message: Message): void {
    this.#keep(this.#post(message, JSON.stringify(message)));
  }

  cancel(_id: number, notification: Message): void {
    this.send(notification);
  }

  async close(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#work);
  }

  #keep(work: Promise<void>): void {
    const kept = work.finally(() => this.#work.delete(kept));
    this.#work.add(kept);
  }

  /** Posts a message; the answer, if there is one, comes over the stream. Never rejects. */
  async #post(message: Message, body: string): Promise<void> {
    try {
      const response = await this.#http.post({ message, body, place: this.#endpoint }, this.#end.signal);
      await response.body?.cancel();
      if (!response.ok) throw new NotDelivered(`HTTP status ${response.status}`);
    } catch (error) {
      const { id } = message;
      if (kindOf(message) === "request" && typeof id === "number")
        this.#events.lost(id, this.#http.loss(error));
    }
  }

  async #follow(): Promise<void> {
    const { server, limits, hide } = this.#parts;
    const follower = {
      message: (message: Message) => this.#events.message(message),
      malformed: () => this.#events.skipped("malformed"),
    };
    const resumption: Resumption = { lastEventId: undefined, retryMs: undefined };
    let how = "its stream ended";
    try {
      const response = await this.#http.stream(this.#end.signal);
      if (!response.ok || mediaType(response) !== "text/event-stream") {
        const refusal = await this.#http.refusal(response);
        await response.body?.cancel();
        throw new NotDelivered(refusal ?? `it has no stream: HTTP status ${response.status}`);
      }
      for await (const { event, data } of eventsOf(response, limits.messageBytes, resumption)) {
        if (data === undefined) continue;
        if (event === "endpoint") this.#settle(data);
        else if (event === "message") deliver(data, follower);
      }
    } catch (error) {
      how = errorMessage(error);
    }
    const text = hide(`the MCP server ${server.name} is gone: ${how}`);
    this.#place.reject(new Error(text));
    if (this.#endpoint) this.#events.closed({ text, delivered: true });
  }

  /** Takes the place to post to, which has to be the server's own: its credentials go there. */
  #settle(endpoint: string): void {
    const origin = new URL(this.#parts.server.url);
    const place = URL.parse(endpoint, origin.href);
    if (place?.origin === origin.origin) {
      this.#endpoint ??= place;
      this.#place.resolve();
    } else this.#place.reject(new NotDelivered("it wants messages to be posted to somewhere else"));
  }
}
