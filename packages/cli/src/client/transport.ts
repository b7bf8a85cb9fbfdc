import { type IncomingMessage, request as overHttp, type RequestOptions } from "node:http";
import { request as overHttps } from "node:https";
import { parseExact } from "@reins/ahp";
import { errorMessage, readLimited } from "@reins/kit";
import { CliError, EXIT, systemCode } from "../errors.ts";

/** The server cannot be reached now; it may be back later. */
export class Unreachable extends CliError {
  constructor(message: string, next: string, cause?: unknown) {
    super(message, { next, exitCode: EXIT.unreachable, ...(cause !== undefined && { cause }) });
  }
}

export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
}

export interface TransportResponse {
  readonly status: number;
  /** The parsed value of JSON; else the text, if there is any. */
  readonly body: unknown;
}

export interface FollowOptions {
  /** The id of the last event received; without it, only new events are sent. */
  readonly after?: string | undefined;
  readonly signal: AbortSignal;
}

/** An open stream, or the response that came instead. */
type TransportStream =
  | { readonly status: 200; readonly chunks: AsyncIterable<Uint8Array> }
  | (TransportResponse & { readonly chunks?: undefined });

export interface ApiTransport {
  readonly address: string;
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Absent where no server runs that could send a stream. */
  follow?(path: string, options: FollowOptions): Promise<TransportStream>;
}

/** A socket of this machine, or an address with the token to send there. */
type HttpEndpoint =
  | { readonly socket: string; readonly url?: undefined }
  | { readonly url: URL; readonly token: string | undefined };

const RESPONSE_TIMEOUT_MS = 30_000;
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** A server sends several keep-alives within this time. */
const IDLE_TIMEOUT_MS = 60_000;

export class HttpTransport implements ApiTransport {
  readonly address: string;
  readonly #endpoint: HttpEndpoint;

  constructor(endpoint: HttpEndpoint) {
    this.#endpoint = endpoint;
    this.address = endpoint.url
      ? endpoint.url.origin + endpoint.url.pathname.replace(/\/$/, "")
      : endpoint.socket;
  }

  async send({ method, path, body: value }: TransportRequest): Promise<TransportResponse> {
    const body = value === undefined ? undefined : JSON.stringify(value);
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
    try {
      const answer = await this.#send(path, { method, headers: jsonHeaders(body), signal }, body);
      return await this.#whole(answer);
    } catch (error) {
      throw this.#fault(signal.aborted ? signal.reason : error);
    }
  }

  async follow(path: string, { after, signal }: FollowOptions): Promise<TransportStream> {
    const headers = {
      accept: "text/event-stream, application/problem+json",
      ...(after !== undefined && { "last-event-id": after }),
    };
    try {
      const answer = await this.#send(path, { method: "GET", headers, signal });
      if (answer.statusCode !== 200) return await this.#whole(answer);
      answer.setTimeout(IDLE_TIMEOUT_MS, () => answer.destroy(new Error("idle timeout")));
      return { status: 200, chunks: this.#chunksOf(answer, signal) };
    } catch (error) {
      throw this.#fault(error);
    }
  }

  #send(path: string, options: RequestOptions, body?: string): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const endpoint = this.#endpoint;
    const sent = endpoint.url
      ? sendTo(endpoint.url, path, { ...options, headers: { ...options.headers, ...bearer(endpoint.token) } })
      : overHttp({ ...options, socketPath: endpoint.socket, path, agent: false });
    sent.once("response", resolve);
    sent.once("error", reject);
    sent.end(body);
    return promise;
  }

  async #whole(answer: IncomingMessage): Promise<TransportResponse> {
    const bytes = await readLimited(answer, MAX_RESPONSE_BYTES);
    if (!bytes) throw new Error(`the response is longer than ${MAX_RESPONSE_BYTES} bytes`);
    const text = bytes.toString();
    return { status: answer.statusCode ?? 0, body: text === "" ? undefined : parseJsonOr(text, text) };
  }

  async *#chunksOf(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      yield* answer;
    } catch (error) {
      if (!signal.aborted) throw this.#fault(error);
    }
  }

  #fault(error: unknown): unknown {
    if (error instanceof CliError) return error;
    const why = systemCode(error) === "ECONNREFUSED" ? "nothing listens there" : errorMessage(error);
    const next = this.#endpoint.url
      ? "Check the address after --url or in REINS_URL, and that Reins runs there."
      : "It may be stopping: try again, and see the log of reins up.";
    return new Unreachable(`Reins cannot be reached at ${this.address}: ${why}`, next, error);
  }
}

function sendTo(url: URL, path: string, options: RequestOptions) {
  const send = url.protocol === "https:" ? overHttps : overHttp;
  return send(new URL(url.pathname.replace(/\/$/, "") + path, url), { ...options, agent: false });
}

function bearer(token: string | undefined) {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

function jsonHeaders(body: string | undefined) {
  const accept = "application/json, application/problem+json";
  if (body === undefined) return { accept };
  return { accept, "content-type": "application/json", "content-length": Buffer.byteLength(body) };
}

export function parseJsonOr(text: string, otherwise: unknown): unknown {
  try {
    return parseExact(text);
  } catch {
    return otherwise;
  }
}
