import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { type Clock, errorMessage, JsonError, parseJson, readLimited, sleep } from "@reins/kit";
import type { CallOptions, ClientTransport, SendRequest } from "../../client/transport.ts";
import { AhpError } from "../../errors.ts";
import { isObject } from "../../wire/decode.ts";
import { authHeaders, type Credential } from "../auth.ts";
import { SESSION_HEADER } from "./listener.ts";

/** A harness behind HTTP; the URL is used unchanged. */
export interface HttpTarget {
  readonly url: string;
  readonly credential?: Credential | undefined;
  /** Certificates to trust beside the system's, in PEM. */
  readonly ca?: string | Buffer | undefined;
}

interface Response {
  readonly status: number;
  readonly reason: string;
  readonly body: string;
  readonly retryAfterMs?: number | undefined;
}

/** The most connections; further requests wait for one. */
const MAX_SOCKETS = 64;
/** The pause before a busy harness is asked again, if it names none. */
const BUSY_MS = 1_000;

/** One `POST` per message over kept-alive connections. Redirects are not followed: they would carry the key along. */
export class HttpTransport implements ClientTransport {
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #agent: HttpAgent;
  readonly #clock: Clock;
  readonly #maxMessageBytes: number;
  readonly #end = new AbortController();

  constructor(target: HttpTarget, maxMessageBytes: number, clock: Clock) {
    this.#url = addressOf(target.url);
    this.#headers = {
      "content-type": "application/json",
      ...(target.credential && authHeaders(target.credential)),
    };
    const settings = {
      keepAlive: true,
      maxSockets: MAX_SOCKETS,
      ...(target.ca === undefined ? {} : { ca: target.ca }),
    };
    this.#agent = this.#url.protocol === "https:" ? new HttpsAgent(settings) : new HttpAgent(settings);
    this.#maxMessageBytes = maxMessageBytes;
    this.#clock = clock;
  }

  readonly request: SendRequest = async (_, text, options) => {
    const { body } = await this.#post(text, options);
    try {
      return parseJson(body);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      throw new AhpError("protocol", `Failed to parse response: ${error.message}`, { cause: error });
    }
  };

  /** A notification has no response, but HTTP reports to its sender that it was refused. */
  async notify(text: string, options: CallOptions): Promise<void> {
    const refusal = refusalIn((await this.#post(text, options)).body);
    if (refusal !== undefined) throw new AhpError("protocol", `Event failed: ${refusal}`);
  }

  onReconnect(): void {
    // Requests do not depend on a connection.
  }

  useSession(token: string): void {
    this.#headers[SESSION_HEADER] = token;
  }

  async close(): Promise<void> {
    this.#end.abort(AhpError.closed());
    this.#agent.destroy();
  }

  async #post(text: string, { timeoutMs, signal }: CallOptions): Promise<Response> {
    if (this.#end.signal.aborted) throw AhpError.closed();
    signal?.throwIfAborted();
    const late = new AbortController();
    const cancel = this.#clock.after(timeoutMs, () => late.abort(AhpError.timeout(timeoutMs)));
    const over = AbortSignal.any([late.signal, this.#end.signal, ...(signal ? [signal] : [])]);
    try {
      const response = await this.#admitted(text, over);
      const { status, reason, body } = response;
      if (status >= 200 && status <= 299) return response;
      const error = `HTTP error: ${status} ${reason} - ${body}`;
      throw new AhpError("transport", error);
    } catch (error) {
      if (over.aborted) throw over.reason;
      if (error instanceof AhpError) throw error;
      throw new AhpError("transport", `HTTP request failed: ${errorMessage(error)}`, { cause: error });
    } finally {
      cancel();
    }
  }

  /** Retries until the deadline while the harness is busy. */
  async #admitted(text: string, signal: AbortSignal): Promise<Response> {
    for (;;) {
      const response = await this.#exchange(text, signal);
      if (response.status !== 503 || response.retryAfterMs === undefined) return response;
      await sleep(response.retryAfterMs, this.#clock, signal);
      if (signal.aborted) return response;
    }
  }

  #exchange(text: string, signal: AbortSignal): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const headers = { ...this.#headers, "content-length": String(Buffer.byteLength(text)) };
    const send = this.#url.protocol === "https:" ? httpsRequest : httpRequest;
    const options = { method: "POST", agent: this.#agent, headers };
    const request: ClientRequest = send(this.#url, options, (response) => {
      readAll(response, this.#maxMessageBytes).then(resolve, reject);
    });
    const abort = () => request.destroy(new Error("aborted"));
    signal.addEventListener("abort", abort, { once: true });
    request.once("error", (error) => {
      // A pooled connection that the other side closed while idle: nothing of this was read.
      if (wasIdle(request, error) && !signal.aborted) resolve(this.#exchange(text, signal));
      else reject(error);
    });
    request.end(text);
    return promise.finally(() => signal.removeEventListener("abort", abort));
  }
}

/** Whether a kept connection was closed by the other side just as it was reused. */
function wasIdle({ reusedSocket }: ClientRequest, error: Error): boolean {
  return reusedSocket && "code" in error && error.code === "ECONNRESET";
}

/** How long a busy harness wants to be left alone; nothing where it does not ask to be tried again. */
function retryAfterMsIn({ headers }: IncomingMessage): number | undefined {
  const said = headers["retry-after"];
  if (said === undefined) return undefined;
  return /^\d{1,4}$/.test(said) ? Number(said) * 1_000 : BUSY_MS;
}

/** The reason of a rejected notification in a body; other servers respond to notifications with anything. */
function refusalIn(body: string): string | undefined {
  try {
    const answer: unknown = JSON.parse(body);
    if (!isObject(answer) || !isObject(answer.error)) return undefined;
    return String(answer.error.message);
  } catch {
    return undefined;
  }
}

async function readAll(response: IncomingMessage, maxBytes: number): Promise<Response> {
  const bytes = await readLimited(response, maxBytes);
  if (!bytes) throw new AhpError("transport", `the response is larger than ${maxBytes} bytes`);
  const body = bytes.toString();
  return {
    ...{ status: response.statusCode ?? 0, reason: response.statusMessage ?? "", body },
    retryAfterMs: retryAfterMsIn(response),
  };
}

function addressOf(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed && ["http:", "https:"].includes(parsed.protocol)) return parsed;
  throw new AhpError("transport", `Invalid HTTP URL: ${url} (expected http:// or https://)`);
}
