import { type Operation, PROBLEM_TYPE } from "@reins/api";
import { raceAbort } from "@reins/kit/async";
import { errorMessage } from "@reins/kit/errors";
import { parseLossless } from "@reins/kit/lossless";
import type { z } from "zod";
import { ApiError, ConnectionError } from "./errors.ts";
import { bytesOf, type EventSourceOptions, followEvents, sseEventsOf } from "./events.ts";

export { ApiError, ConnectionError } from "./errors.ts";

/**
 * The secret of a principal, or a function that gets one. The function is called before the first request, and once
 * more for a request whose token the server refused; requests at the same time share a call.
 */
export type TokenSource = string | (() => string | Promise<string>);

/** Where a Reins is, and how it is reached. */
export interface ApiOptions {
  /** The secret of a principal, or what gets it; in a browser that is logged in, the cookie is enough. */
  readonly token?: TokenSource | undefined;
  /** In place of the platform's `fetch`. */
  readonly fetch?: ((url: string, request: FetchRequest) => Promise<Response>) | undefined;
  /** In place of the parser of JSON that ships with this library, for one that is stricter. */
  readonly parse?: ((text: string) => unknown) | undefined;
  /** How long a broken stream is reopened before it fails, in milliseconds; five minutes by default. */
  readonly giveUpMs?: number | undefined;
}

/** What a `fetch` is called with beside the address. */
export interface FetchRequest {
  readonly method: Operation["method"];
  readonly headers: Record<string, string>;
  readonly body?: RequestContent;
  readonly redirect: "error";
  readonly signal?: AbortSignal;
}

/** Every request can be aborted. */
export interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

/** Bytes to send; a stream is sent as it is read. */
export type RequestContent = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

/** The input of an operation: path parameters, query and body. */
export interface OperationInput<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>
  extends Abortable {
  readonly params?: z.input<P>;
  readonly query?: z.input<Q>;
  readonly body?: z.input<B>;
  /** The bytes of an operation that takes bytes. */
  readonly content?: RequestContent | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

interface RequestInit extends Abortable {
  readonly method: Operation["method"];
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly content?: RequestContent | undefined;
}

/** The longest response that is read whole, in bytes. */
const MAX_RESPONSE = 64 * 1024 * 1024;
/** The same for a refusal. */
const MAX_PROBLEM = 1024 * 1024;
const EVENT_STREAM = { accept: "text/event-stream" };
const NEVER = new AbortController().signal;
const UNAUTHENTICATED = 401;
const MOST_RETRY_AFTER_MS = 600_000;

/** Sends operations of the API and parses their responses. */
export class Http {
  readonly giveUpMs: number | undefined;
  /** Whether a token that is refused may be renewed. */
  readonly isRenewable: boolean;
  readonly #base: URL;
  readonly #options: ApiOptions;
  readonly #credential: Credential;

  constructor(url: string | URL, options: ApiOptions) {
    this.#base = baseOf(url);
    this.#options = options;
    this.#credential = new Credential(options.token);
    this.giveUpMs = options.giveUpMs;
    this.isRenewable = typeof options.token === "function";
  }

  /** Calls an operation and validates its response. */
  async call<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    operation: Operation<P, Q, B, A>,
    input: OperationInput<P, Q, B> = {},
  ): Promise<z.output<A>> {
    const text = await this.text(operation, input);
    return this.#parsed(operation.answer, text === "" ? undefined : text);
  }

  /** Calls an operation and returns the text of its response, for content that is checked to the byte. */
  async text<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
    operation: Operation<P, Q, B>,
    input: OperationInput<P, Q, B> = {},
  ): Promise<string> {
    return responseText(await this.response(operation, input), input.signal);
  }

  /** Starts a long operation and yields its progress; aborting only ends the reading. */
  async *progress<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    operation: Operation<P, Q, B, A>,
    input: OperationInput<P, Q, B>,
  ): AsyncGenerator<z.output<A>> {
    const { body } = await this.response(operation, { ...input, headers: EVENT_STREAM });
    for await (const { data } of sseEventsOf(body, { signal: input.signal }))
      if (data !== undefined) yield this.#parsed(operation.answer, data);
  }

  /** Subscribes to a stream of events; reconnects after the last one until the signal. */
  async *follow<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    operation: Operation<P, Q, B, A>,
    {
      params,
      query,
      after,
      signal = NEVER,
      onState,
    }: OperationInput<P, Q, B> &
      Pick<EventSourceOptions, "onState"> & { readonly after?: string | undefined },
  ): AsyncGenerator<z.output<A>> {
    const path = pathOf(operation.path, params, query);
    const events = followEvents({
      open: (lastEventId, aborted) => this.stream(path, { signal: aborted, lastEventId }),
      signal,
      lastEventId: after,
      giveUpMs: this.giveUpMs,
      onState,
    });
    for await (const { event, data } of events)
      if (event === operation.events && data !== undefined) yield this.#parsed(operation.answer, data);
  }

  /** Opens a stream of events. */
  stream(
    path: string,
    {
      signal,
      lastEventId,
      headers,
    }: Abortable & {
      readonly lastEventId?: string | undefined;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ): Promise<Response> {
    const all = {
      ...headers,
      ...EVENT_STREAM,
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    };
    return this.request(path, { method: "GET", headers: all, signal });
  }

  /**
   * Sends a request; a response that is no success becomes a {@link ApiError}. A request whose token is refused is sent
   * again with a new one, if there is one.
   */
  async request(path: string, request: RequestInit): Promise<Response> {
    const { content, signal } = request;
    const given = this.#credential.get(signal);
    // Where it is known, the request is sent before this function returns.
    const token = typeof given === "object" ? await given : given;
    const response = await this.#send(path, request, token);
    if (response.ok) return response;
    const error = await refusal(response, signal);
    if (error.status !== UNAUTHENTICATED) throw error;
    const renewed = await this.#credential.renew(token, signal);
    // A stream cannot be sent again.
    if (renewed === undefined || content instanceof ReadableStream) throw error;
    const again = await this.#send(path, request, renewed);
    if (again.ok) return again;
    throw await refusal(again, signal);
  }

  #send(
    path: string,
    { method, headers, body, content, signal }: RequestInit,
    token: string | undefined,
  ): Promise<Response> {
    const { fetch: send = fetch } = this.#options;
    signal?.throwIfAborted();
    const request: FetchRequest = {
      method,
      // A server that redirects is none of ours, and must not get the token.
      redirect: "error",
      headers: {
        ...headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // A stream is sent as it is read, which takes this member.
      ...(content !== undefined && { body: content, duplex: "half" }),
      ...(signal && { signal }),
    };
    return send(this.#base.href.replace(/\/$/, "") + path, request).catch((error: unknown) => {
      if (signal?.aborted) throw signal.reason;
      throw new ConnectionError("unreachable", `No Reins answers at ${this.#base.origin}.`, { cause: error });
    });
  }

  /** Calls an operation and returns its response, for content that is streamed. */
  response<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
    { method, path, takes }: Operation<P, Q, B>,
    { params, query, headers, ...input }: OperationInput<P, Q, B>,
  ): Promise<Response> {
    const type = takes === undefined ? {} : { "content-type": takes };
    return this.request(pathOf(path, params, query), { method, headers: { ...type, ...headers }, ...input });
  }

  #parsed<A extends z.ZodType>(schema: A, text: string | undefined): z.output<A> {
    const value = text === undefined ? undefined : parseResponse(text, this.#options.parse);
    const { success, data, error } = schema.safeParse(value);
    if (success) return data;
    throw new ConnectionError("incompatible", "The response does not match the API.", {
      cause: error,
    });
  }
}

/** The token of a client: given, or got from a function and kept until it is refused. */
class Credential {
  readonly #source: TokenSource | undefined;
  #kept: Promise<string> | undefined;

  constructor(source: TokenSource | undefined) {
    if (typeof source === "string") validateToken(source);
    this.#source = source;
  }

  get(signal = NEVER): string | undefined | Promise<string> {
    if (typeof this.#source !== "function") return this.#source;
    this.#kept ??= this.#ask(this.#source);
    return raceAbort(this.#kept, signal);
  }

  /** Returns a token in place of a refused one; undefined if there is no other. */
  async renew(refused: string | undefined, signal?: AbortSignal): Promise<string | undefined> {
    if (typeof this.#source !== "function") return undefined;
    const kept = this.#kept;
    // Another request may have renewed it meanwhile.
    if ((await this.get(signal)) === refused && this.#kept === kept) this.#kept = undefined;
    const renewed = await this.get(signal);
    return renewed === refused ? undefined : renewed;
  }

  async #ask(source: () => string | Promise<string>): Promise<string> {
    // What asks at the same time finds this promise, also if the source throws at once.
    await undefined;
    try {
      return validateToken(await source());
    } catch (error) {
      this.#kept = undefined;
      throw new ConnectionError("unreachable", `There is no token to send: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }
}

function validateToken(token: string): string {
  // The platform would repeat it in its own message.
  if (!/^[!-~]+$/.test(token)) throw new TypeError("The token has characters that no token has.");
  return token;
}

function baseOf(url: string | URL): URL {
  const base = new URL(url);
  if (!["http:", "https:"].includes(base.protocol) || base.username + base.search + base.hash !== "")
    throw new TypeError("Give an address such as http://127.0.0.1:18789, without a token.");
  return base;
}

function pathOf(path: string, params: unknown, query: unknown): string {
  const given = new Map(Object.entries(Object(params)));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(given.get(name))),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(Object(query)))
    if (value !== undefined) search.set(name, String(value));
  return search.size > 0 ? `${filled}?${search}` : filled;
}

/** Parses JSON of the server. Numbers that JavaScript cannot hold keep their digits. */
export function parseResponse(text: string, parse = parseLossless): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new ConnectionError("incompatible", `The response is no JSON: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

/** Reads the text of a response, up to a limit. */
export async function responseText(
  { body }: Response,
  signal?: AbortSignal,
  longest = MAX_RESPONSE,
): Promise<string> {
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let length = 0;
  for await (const chunk of bytesOf(body, { signal })) {
    length += chunk.length;
    if (length > longest)
      throw new ConnectionError("incompatible", `The response is longer than ${longest} bytes.`);
    pieces.push(decoder.decode(chunk, { stream: true }));
  }
  return pieces.join("") + decoder.decode();
}

async function refusal(response: Response, signal: AbortSignal | undefined): Promise<ApiError> {
  const problem = await readProblem(response, signal);
  // A Reins sends seconds; dates, which proxies may send, are not worth their parser in a browser.
  const [seconds] = /^\d+$/.exec(response.headers.get("retry-after") ?? "") ?? [];
  const wait = seconds === undefined ? undefined : Math.min(Number(seconds) * 1_000, MOST_RETRY_AFTER_MS);
  return new ApiError(response.status, problem, wait);
}

async function readProblem(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  const isProblem = response.headers.get("content-type")?.startsWith(PROBLEM_TYPE) ?? false;
  try {
    if (isProblem) return JSON.parse(await responseText(response, signal, MAX_PROBLEM));
    await response.body?.cancel();
    return undefined;
  } catch {
    signal?.throwIfAborted();
    // The status says enough.
    return undefined;
  }
}

/** Yields the items of all pages; `next` of a page begins the one after it. Rejects where a page leads to itself. */
export async function* allOf<Item, Cursor>(
  page: (
    after: Cursor | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly next: Cursor | undefined }>,
): AsyncGenerator<Item> {
  let after: Cursor | undefined;
  do {
    const { items, next } = await page(after);
    yield* items;
    if (next !== undefined && next === after)
      throw new ConnectionError("incompatible", "The server sends the same page again and again.");
    after = next;
  } while (after !== undefined);
}
