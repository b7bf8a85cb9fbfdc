import { type IncomingMessage, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import type { Operation, ProblemCode } from "@reins/api";
import { errorMessage, parseExact } from "@reins/kit";
import {
  ApiError,
  type ApiOptions,
  ConnectionError,
  type FetchRequest,
  Http,
  type OperationInput,
  type TokenSource,
} from "@reins/sdk/http";
import type { z } from "zod";
import { CliError, EXIT, type ExitCode, systemCode } from "../errors.ts";
import { printable } from "../output.ts";

/** The server cannot be reached now; it may be back later. */
export class Unreachable extends CliError {
  constructor(message: string, next: string, cause?: unknown) {
    super(message, { next, exitCode: EXIT.unreachable, ...(cause !== undefined && { cause }) });
  }
}

/** What to do about a problem, by its code, where a command knows better than the general advice. */
export type Advice = Partial<Record<ProblemCode, string>>;

const NEXT: Advice = {
  invalid: "Add --help to see the options.",
  unauthenticated: "Give a token that is valid there: --token @file, or REINS_TOKEN.",
  forbidden: "Use a token with that permission: --token @file, or REINS_TOKEN.",
  not_found: "Check the name.",
  conflict: "Look at the current state.",
  too_many_requests: "Wait a little, then run the same command again.",
  unavailable: "See what the log of reins up says, then run the same command again.",
};

const EXIT_CODES: ReadonlyMap<string, ExitCode> = new Map<string, ExitCode>([
  ["invalid", EXIT.usage],
  ["unauthenticated", EXIT.unreachable],
]);

/** Maps a refusal to an error with what to do about it. */
function problemError(problem: ApiError, address: string, advice: Advice): CliError {
  const { status, code, detail, errors } = problem;
  if (detail === "") return incompatible(`It responded with status ${status}`, address);
  if (code === "not_acceptable") return notRunning(address);
  const faults = errors.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const known = Object.entries({ ...NEXT, ...advice }).find(([name]) => name === code)?.[1];
  return new CliError(sentence(printable(faults.join("; ") || detail)), {
    next: known ?? "See what the log of reins up says.",
    exitCode: EXIT_CODES.get(code) ?? EXIT.failed,
    cause: problem,
  });
}

/** The error for a response that no Reins of this version sends. */
export function incompatible(what: string, address: string, cause?: unknown): CliError {
  return new CliError(`The server at ${address} is not a compatible Reins. ${sentence(what)}`, {
    next: "Check the address, and that both are of the same version: reins --version",
    exitCode: EXIT.unreachable,
    ...(cause !== undefined && { cause }),
  });
}

/** Words that the detail of a problem may begin with; anything else at the beginning is a name and stays as it is. */
const SENTENCE_STARTS = /^(?:an?|it|no|nothing|only|something|that|the|there|this) /;

/** Makes the detail of a problem, which is a part of a sentence, a whole one. */
function sentence(text: string): string {
  const begun = SENTENCE_STARTS.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

interface Advised {
  readonly advice?: Advice | undefined;
}

interface ServerOptions extends Pick<ApiOptions, "token" | "fetch"> {
  /** Where the server is, for messages. */
  readonly address: string;
  /** The address of a remote server. */
  readonly url?: URL | undefined;
}

const RESPONSE_TIMEOUT_MS = 30_000;
/** How long a server that is restarted is waited for. */
const RECONNECT_MS = 60_000;

/** The API of one Reins, local or remote. Every failure becomes a `CliError` with what to do about it. */
export class ApiClient {
  readonly address: string;
  readonly #isRemote: boolean;
  readonly #http: Http;

  constructor({ address, url, ...options }: ServerOptions) {
    this.address = address;
    this.#isRemote = url !== undefined;
    try {
      this.#http = new Http(url ?? "http://localhost", {
        ...options,
        parse: parseExact,
        giveUpMs: RECONNECT_MS,
      });
    } catch (error) {
      throw new CliError(errorMessage(error), { next: "Check --token, or REINS_TOKEN.", cause: error });
    }
  }

  /** The server that listens on a socket of this machine. */
  static over(socket: string): ApiClient {
    return new ApiClient({ address: socket, fetch: fetchOver({ socketPath: socket }) });
  }

  /** The server at an address. */
  static at({ url, token }: { readonly url: URL; readonly token: TokenSource | undefined }): ApiClient {
    return new ApiClient({ address: url.href.replace(/\/$/, ""), url, token, fetch: fetchOver({}) });
  }

  /** Calls an operation and parses its response. */
  call<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    operation: Operation<P, Q, B, A>,
    input: OperationInput<P, Q, B> & Advised = {},
  ): Promise<z.output<A>> {
    return this.send(operation, input);
  }

  /** The same for members that are known only when the command runs; the server checks them. */
  async send<A extends z.ZodType>(
    operation: Operation<z.ZodType, z.ZodType, z.ZodType, A>,
    { advice = {}, ...input }: OperationInput<z.ZodType, z.ZodType, z.ZodType> & Advised,
  ): Promise<z.output<A>> {
    try {
      const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
      return await this.#http.call(operation, { ...input, signal });
    } catch (error) {
      throw this.#fault(error, advice);
    }
  }

  /** Streams events until the signal. A server that is restarted is waited for. */
  async *follow<A extends z.ZodType>(
    operation: Operation<z.ZodType, z.ZodType, z.ZodType, A>,
    options: { readonly signal: AbortSignal; readonly onState: (isOpen: boolean) => void },
  ): AsyncGenerator<z.output<A>> {
    try {
      yield* this.#http.follow(operation, options);
    } catch (error) {
      throw this.#fault(error, {});
    }
  }

  /** Starts a long operation and streams its progress. Aborting only ends the reading. */
  async *progress<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
    operation: Operation<P, Q, B, A>,
    input: OperationInput<P, Q, B>,
  ): AsyncGenerator<z.output<A>> {
    try {
      yield* this.#http.progress(operation, input);
    } catch (error) {
      if (!input.signal?.aborted) throw this.#fault(error, {});
    }
  }

  #fault(error: unknown, advice: Advice): unknown {
    if (error instanceof ApiError) return problemError(error, this.address, advice);
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    if (!isLate && !(error instanceof ConnectionError)) return error;
    if (error.cause instanceof CliError) return error.cause;
    if (!isLate && error.code === "incompatible") return incompatible(error.message, this.address, error);
    const why =
      systemCode(error) === "ECONNREFUSED" ? "nothing listens there" : errorMessage(error.cause ?? error);
    const next = this.#isRemote
      ? "Check the address after --url or in REINS_URL, and that Reins runs there."
      : "It may be stopping: try again, and see the log of reins up.";
    return new Unreachable(`Reins cannot be reached at ${this.address}: ${why}`, next, error);
  }
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** A `fetch` that also speaks over Unix sockets and to every port, and keeps no connection; the platform's does neither. */
export function fetchOver(where: { readonly socketPath?: string }) {
  return async (url: string, { method, headers, body, signal }: FetchRequest): Promise<Response> => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const send = url.startsWith("https:") ? overHttps : overHttp;
    const request = send(url, { ...where, method, headers, agent: false, ...(signal && { signal }) });
    request.once("response", resolve).once("error", reject).end(body);
    const answer = await promise;
    const status = answer.statusCode ?? 0;
    if (WITHOUT_BODY.has(status)) answer.resume();
    const received = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    return new Response(WITHOUT_BODY.has(status) ? null : ReadableStream.from(answer), {
      status,
      headers: received,
    });
  };
}

function notRunning(address: string): Unreachable {
  return new Unreachable(
    `No Reins runs on ${address}, so there is nothing to follow.`,
    "Start it in another terminal: reins up",
  );
}

interface IdFormat {
  readonly what: string;
  /** What every id begins with; it may be left out. */
  readonly mark: string;
  readonly length: number;
  readonly list: string;
}

type Page = readonly { readonly id: string }[];

/** Shorter prefixes match another id by chance. */
const MIN_PREFIX = 4;
const MAX_SHOWN = 5;

/** Completes the beginning of an id. The first search that finds anything decides. */
export async function idByPrefix(
  given: string,
  form: IdFormat,
  searches: readonly (() => Promise<Page> | AsyncIterable<Page>)[],
): Promise<string> {
  const { mark, length, what, list } = form;
  const start = given.startsWith(mark) ? given : mark + given;
  if (start.length >= length) return start;
  if (start.length < mark.length + MIN_PREFIX)
    throw new CliError(`"${given}" is too short for the id of one ${what}.`, {
      next: `Give at least ${MIN_PREFIX} characters of its id. To see them: ${list}`,
    });
  for (const search of searches) {
    const found = new Set<string>();
    const pages = search();
    for await (const page of pages instanceof Promise ? [pages] : pages)
      for (const { id } of page) if (id.startsWith(start)) found.add(id);
    const [only] = found;
    if (only !== undefined && found.size === 1) return only;
    if (only !== undefined) throw ambiguous(given, what, [...found]);
  }
  throw new CliError(`There is no ${what} whose id begins with ${start}.`, {
    next: `To see them: ${list}`,
    exitCode: EXIT.failed,
  });
}

function ambiguous(given: string, what: string, ids: readonly string[]): CliError {
  const shown = ids.slice(0, MAX_SHOWN).map((id) => `  ${id}`);
  if (ids.length > MAX_SHOWN) shown.push(`  and ${ids.length - MAX_SHOWN} more`);
  return new CliError(`"${given}" is the beginning of more than one ${what}.`, {
    next: ["Give more of the id:", ...shown].join("\n"),
  });
}
