import { raceAbort, readLimited, settlesWithin } from "@reins/kit";
import type { ServerContext } from "../gate.ts";
import type { ServerLogin } from "../login/server-login.ts";
import { isModernRevision, isObject, type Message, objectIn, revisionOf } from "../message.ts";
import type { HttpServer } from "../server-entry.ts";
import type { Loss, Sending } from "./server-run.ts";

/** What it takes to speak to a server over HTTP. */
export interface HttpParts extends Pick<ServerContext, "hide" | "limits" | "clock"> {
  readonly server: HttpServer;
  readonly fetch: Fetch;
  /** How the operator is logged in to the server, if the declaration says so. */
  readonly login?: ServerLogin | undefined;
}

/** A message on its way. */
export interface OutgoingMessage {
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

  /** Posts a message. Throws if the server wants another login for it. */
  async post(
    { message, body, sending, place = this.#url }: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<Response> {
    const headers = messageHeaders(this.#parts.server, this.session, message, sending);
    const response = await this.#fetch(place, { method: "POST", headers, body, signal });
    const refusal = await this.refusal(response);
    if (refusal !== undefined) throw new NotDelivered(refusal);
    return response;
  }

  /** Why the server turned a request down, if for lack of a login. */
  async refusal(response: Response): Promise<string | undefined> {
    return this.#parts.login?.refusal(response);
  }

  /** Opens a stream of the server's messages, or resumes one after an event. */
  stream(signal: AbortSignal, lastEventId?: string): Promise<Response> {
    const headers = sessionHeaders(this.#parts.server, this.session);
    headers.set("accept", "text/event-stream");
    if (lastEventId !== undefined) headers.set("last-event-id", lastEventId);
    return this.#fetch(this.#url, { method: "GET", headers, signal });
  }

  /** Ends the session on the server, if there is one; failures are ignored. */
  async leave(): Promise<void> {
    if (this.session.id === undefined) return;
    const { server, limits, clock } = this.#parts;
    const impatience = new AbortController();
    const headers = sessionHeaders(server, this.session);
    const left = this.#fetch(this.#url, { method: "DELETE", headers, signal: impatience.signal }).then(
      (response) => response.body?.cancel(),
      () => {
        // A server that cannot be reached forgets the session by itself.
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

  #fetch(
    place: URL,
    init: RequestInit & { readonly headers: Headers; readonly signal: AbortSignal },
  ): Promise<Response> {
    const { fetch, login } = this.#parts;
    if (!login) return fetchSameOrigin(fetch, place, init);
    const sent = login.send((authorization) => {
      init.signal.throwIfAborted();
      const headers = new Headers(init.headers);
      if (authorization !== undefined) headers.set("authorization", authorization);
      return fetchSameOrigin(fetch, place, { ...init, headers }, 0);
    });
    return raceAbort(sent, init.signal);
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

/** The member of a request's parameters that `Mcp-Name` repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** What a link to an HTTP server remembers of the session. */
export interface HttpSession {
  id: string | undefined;
  /** The revision that was agreed on in the handshake. */
  revision: string | undefined;
}

/** The headers every request to the server has: its credentials, and the session. */
function sessionHeaders(server: HttpServer, session: HttpSession): Headers {
  const headers = new Headers(server.headers.map(({ name, value }): [string, string] => [name, value]));
  if (session.id !== undefined) headers.set("mcp-session-id", session.id);
  if (session.revision !== undefined) headers.set("mcp-protocol-version", session.revision);
  return headers;
}

/** The headers of a message that is posted. Since 2026 they repeat what the body says. */
function messageHeaders(
  server: HttpServer,
  session: HttpSession,
  message: Message,
  sending?: Sending,
): Headers {
  const isIntroduction = message.method === "initialize";
  const headers = sessionHeaders(server, isIntroduction ? { id: undefined, revision: undefined } : session);
  headers.set("content-type", "application/json");
  headers.set("accept", "application/json, text/event-stream");
  const revision = revisionOf(message);
  const { method } = message;
  if (revision === undefined || !isModernRevision(revision) || typeof method !== "string") return headers;
  headers.set("mcp-protocol-version", revision);
  headers.set("mcp-method", method);
  const source = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = source === undefined ? undefined : objectIn(message, "params")?.[source];
  if (typeof name === "string") headers.set("mcp-name", headerValue(name));
  for (const [header, value] of Object.entries(sending?.headers ?? {})) headers.set(header, value);
  return headers;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * The `Mcp-Param-…` headers that repeat arguments of a call over HTTP, where the tool's schema marks them with
 * `x-mcp-header`. Made from the arguments the call is really made with, so that header and body never disagree.
 */
export function parameterHeaders(schema: unknown, given: unknown): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (!isObject(schema) || !isObject(given) || !isObject(schema.properties)) return headers;
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    const header = property["x-mcp-header"];
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const text = textOf(value);
    if (typeof header === "string" && TOKEN.test(header) && text !== undefined) {
      headers[`Mcp-Param-${header}`] = headerValue(text);
    }
    Object.assign(headers, parameterHeaders(property, value));
  }
  return headers;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  return undefined;
}

/** A text as a header may carry it: as it is where that is safe, else marked as base64. */
export function headerValue(text: string): string {
  const isSafe = /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isSafe ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** How requests are made; a test brings its own. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

const MOST_REDIRECTS = 3;

/**
 * Fetches, following only those redirects that stay with the same origin and keep the method: the credentials of a
 * server go nowhere else.
 */
async function fetchSameOrigin(
  fetch: Fetch,
  url: URL,
  init: RequestInit,
  mostRedirects = MOST_REDIRECTS,
): Promise<Response> {
  let place = url;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(place, { ...init, redirect: "manual" });
    const location = response.headers.get("location");
    if ((response.status !== 307 && response.status !== 308) || location === null) return response;
    await response.body?.cancel();
    const next = new URL(location, place);
    if (next.origin !== url.origin || redirects >= mostRedirects) {
      throw new NotDelivered("it redirects to somewhere else, where its credentials must not go");
    }
    place = next;
  }
}

/** The server, or the way there, turned a request down before anything was done about it. */
export class NotDelivered extends Error {
  override readonly name = "NotDelivered";
}

/** Ways in which a connection fails before anything was said over it. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether a request that failed may have reached the server. In doubt, it may. */
function mayHaveArrived(error: unknown): boolean {
  if (error instanceof NotDelivered) return false;
  const code = error instanceof Error ? Reflect.get(Object(error.cause), "code") : undefined;
  return !NEVER_CONNECTED.has(String(code));
}

/** The message of a failure, with that of its cause. */
function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== ""
    ? `${error.message}: ${error.cause.message}`
    : error.message;
}
