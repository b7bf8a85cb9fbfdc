import { type Operation, PROBLEM_TYPE } from "@reins/api";
import { errorMessage } from "@reins/kit/errors";
import { parseLossless } from "@reins/kit/lossless";
import type { z } from "zod";
import { ApiError, ConnectionError } from "./errors.ts";
import { type EventSourceOptions, followEvents, sseEventsOf } from "./events.ts";

/** Where a Reins is, and how it is reached. */
export interface ApiOptions {
  /** The secret of a principal; in a browser that is logged in, the cookie is enough. */
  readonly token?: string | undefined;
  /** In place of the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** How long a broken stream is reopened before it fails, in milliseconds; five minutes by default. */
  readonly giveUpMs?: number | undefined;
}

/** Every request can be aborted. */
export interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

/** The input of an operation: path parameters, query and body. */
export interface OperationInput<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>
  extends Abortable {
  readonly params?: z.input<P>;
  readonly query?: z.input<Q>;
  readonly body?: z.input<B>;
}

interface RequestInit extends Abortable {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The longest response that is read whole, in bytes. */
const MAX_RESPONSE = 64 * 1024 * 1024;
const NEVER = new AbortController().signal;

/** Sends operations of the API and parses their responses. */
export class Http {
  readonly giveUpMs: number | undefined;
  readonly #base: URL;
  readonly #options: ApiOptions;

  constructor(url: string | URL, options: ApiOptions) {
    this.#base = baseOf(url);
    this.#options = options;
    this.giveUpMs = options.giveUpMs;
  }

  /** Calls an operation and validates its response. */
  async call<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    operation: Operation<P, Q, B, A>,
    input: OperationInput<P, Q, B> = {},
  ): Promise<z.output<A>> {
    const text = await this.text(operation, input);
    return parsed(operation.answer, text === "" ? undefined : text);
  }

  /** Calls an operation and returns the text of its response, for content that is checked to the byte. */
  async text<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
    operation: Operation<P, Q, B>,
    input: OperationInput<P, Q, B> = {},
  ): Promise<string> {
    return responseText(await this.#send(operation, input), input.signal);
  }

  /** Starts a long operation and yields its progress; aborting only ends the reading. */
  async *progress<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    operation: Operation<P, Q, B, A>,
    input: OperationInput<P, Q, B>,
  ): AsyncGenerator<z.output<A>> {
    const { body } = await this.#send(operation, input);
    for await (const { data } of sseEventsOf(body))
      if (data !== undefined) yield parsed(operation.answer, data);
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
      if (event === operation.events && data !== undefined) yield parsed(operation.answer, data);
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
      accept: "text/event-stream",
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    };
    return this.request(path, { method: "GET", headers: all, signal });
  }

  /** Sends a request; a response that is no success becomes a {@link ApiError}. */
  async request(path: string, { method, headers, body, signal }: RequestInit): Promise<Response> {
    const { token, fetch: send = fetch } = this.#options;
    signal?.throwIfAborted();
    const response = await send(this.#base.href.replace(/\/$/, "") + path, {
      method,
      // A server that redirects is none of ours, and must not get the token.
      redirect: "error",
      headers: {
        ...headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    }).catch((error: unknown) => {
      if (signal?.aborted) throw signal.reason;
      throw new ConnectionError("unreachable", `No Reins answers at ${this.#base.origin}.`, { cause: error });
    });
    if (response.ok) return response;
    throw new ApiError(response.status, await readProblem(response));
  }

  #send<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
    { method, path }: Operation<P, Q, B>,
    { params, query, body, signal }: OperationInput<P, Q, B>,
  ): Promise<Response> {
    return this.request(pathOf(path, params, query), { method, body, signal });
  }
}

function baseOf(url: string | URL): URL {
  const base = new URL(url);
  if (!["http:", "https:"].includes(base.protocol) || base.username + base.search + base.hash !== "")
    throw new TypeError("The address of a Reins is such as http://127.0.0.1:18789, without a token in it.");
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
export function parseResponse(text: string): unknown {
  try {
    return parseLossless(text);
  } catch (error) {
    throw new ConnectionError("incompatible", `The response is no JSON: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

function parsed<A extends z.ZodType>(schema: A, text: string | undefined): z.output<A> {
  const { success, data, error } = schema.safeParse(text === undefined ? undefined : parseResponse(text));
  if (success) return data;
  throw new ConnectionError("incompatible", "The response does not match the API of this version.", {
    cause: error,
  });
}

/** Reads the text of a response, up to a limit. */
export async function responseText({ body }: Response, signal?: AbortSignal): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      signal?.throwIfAborted();
      throw new ConnectionError("unreachable", "The connection broke during the response.", { cause: error });
    });
    if (done) return pieces.join("") + decoder.decode();
    length += value.length;
    if (length > MAX_RESPONSE) {
      await reader.cancel();
      throw new ConnectionError("incompatible", `The response is longer than ${MAX_RESPONSE} bytes.`);
    }
    pieces.push(decoder.decode(value, { stream: true }));
  }
}

async function readProblem(response: Response): Promise<unknown> {
  const isProblem = response.headers.get("content-type")?.startsWith(PROBLEM_TYPE) ?? false;
  try {
    return isProblem ? JSON.parse(await responseText(response)) : undefined;
  } catch {
    // The status says enough.
    return undefined;
  }
}
