import { type Clock, readLimited, settlesWithin } from "@reins/kit";
import type { McpLimits } from "../../limits.ts";
import type { HttpServer } from "../../server-entry.ts";
import type { Message } from "../../wire/message.ts";
import type { Loss, Sending } from "../server-link.ts";
import { failureText, mayHaveArrived } from "./delivery.ts";
import { type HttpSession, messageHeaders, sessionHeaders } from "./headers.ts";
import { type Fetch, fetchSameOrigin } from "./same-origin.ts";

/** What it takes to speak to a server over HTTP. */
export interface HttpParts {
  readonly server: HttpServer;
  readonly fetch: Fetch;
  /** Removes secrets from a text that the agent gets to read. */
  readonly hide: (text: string) => string;
  readonly limits: McpLimits;
  readonly clock: Clock;
}

/** A message on its way. */
export interface Letter {
  readonly message: Message;
  /** The message as text. */
  readonly body: string;
  readonly sending?: Sending | undefined;
  /** Where it goes, if not to where the server is. */
  readonly place?: URL | undefined;
}

/** The requests that are made to one server, in one session. */
export class HttpRequests {
  readonly session: HttpSession = { id: undefined, revision: undefined };
  readonly #parts: HttpParts;
  readonly #url: URL;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    this.#url = new URL(parts.server.url);
  }

  /** Posts a message. */
  post({ message, body, sending, place = this.#url }: Letter, signal: AbortSignal): Promise<Response> {
    const headers = messageHeaders(this.#parts.server, this.session, message, sending);
    return this.#fetch(place, { method: "POST", headers, body, signal });
  }

  /** Opens a stream of what the server has to say, or takes one up where it broke off. */
  stream(signal: AbortSignal, lastEventId?: string): Promise<Response> {
    const headers = sessionHeaders(this.#parts.server, this.session);
    headers.set("accept", "text/event-stream");
    if (lastEventId !== undefined) headers.set("last-event-id", lastEventId);
    return this.#fetch(this.#url, { method: "GET", headers, signal });
  }

  /** Tells the server that the session is over, if there was one, without insisting. */
  async leave(): Promise<void> {
    if (this.session.id === undefined) return;
    const { server, limits, clock } = this.#parts;
    const impatience = new AbortController();
    const headers = sessionHeaders(server, this.session);
    const left = this.#fetch(this.#url, { method: "DELETE", headers, signal: impatience.signal }).then(
      (response) => response.body?.cancel(),
      () => {
        // A server that cannot be told forgets the session by itself.
      },
    );
    await settlesWithin(left, limits.stopMs, clock);
    impatience.abort();
  }

  /** What has to be said about a request that failed. */
  loss(error: unknown): Loss {
    const { server, hide } = this.#parts;
    const text = hide(`the MCP server ${server.name} did not answer: ${failureText(error)}`);
    return { text, delivered: mayHaveArrived(error) };
  }

  #fetch(place: URL, init: RequestInit): Promise<Response> {
    return fetchSameOrigin(this.#parts.fetch, place, init);
  }
}

/** Reads a body up to a limit. Throws if it is larger. */
export async function readText({ body }: Response, maxBytes: number): Promise<string> {
  if (!body) return "";
  const bytes = await readLimited(body, maxBytes);
  if (!bytes) throw new Error(`it answered with more than ${maxBytes} bytes`);
  return bytes.toString();
}

/** The media type of a body, without its parameters. */
export function mediaType(response: Response): string {
  return response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
}
