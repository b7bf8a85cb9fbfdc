import { type Operation, Problem, type ProblemCode } from "@reins/api";
import { EventTooLarge, readSse, type ServerSentEvent, SseParser } from "@reins/kit";
import type { z } from "zod";
import { CliError, EXIT, type ExitCode } from "../errors.ts";
import { printable } from "../printable.ts";
import {
  type ApiTransport,
  type FollowOptions,
  parseJsonOr,
  type TransportResponse,
  Unreachable,
} from "./transport.ts";

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

/** Maps a problem response to an error with what to do about it. */
export function problemError({ status, body }: TransportResponse, address: string, advice: Advice): CliError {
  const { data } = Problem.safeParse(body);
  if (!data) return incompatible(`It responded with status ${status}`, address);
  const { code, detail, errors = [] } = data;
  const faults = errors.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const known = Object.entries({ ...NEXT, ...advice }).find(([name]) => name === code)?.[1];
  return new CliError(sentence(printable(faults.join("; ") || detail)), {
    next: known ?? "See what the log of reins up says.",
    exitCode: EXIT_CODES.get(code) ?? EXIT.failed,
  });
}

/** The error for a response that no Reins of this version sends. */
export function incompatible(what: string, address: string, cause?: unknown): CliError {
  return new CliError(`The server at ${address} is not a compatible Reins. ${what}.`, {
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

interface ApiRequest {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly advice?: Advice | undefined;
}

interface CallOptions<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType>
  extends ApiRequest {
  readonly params?: z.input<Params>;
  readonly query?: z.input<Query>;
  readonly body?: z.input<Body>;
}

/** An event of a stream with the id to continue after, or only that id. */
interface StreamedEvent<Data> {
  readonly id: string;
  readonly data?: Data;
}

/** A client of the API of one Reins, local or remote. */
export class ApiClient {
  readonly #transport: ApiTransport;

  constructor(transport: ApiTransport) {
    this.#transport = transport;
  }

  /** Where the server is, for messages. */
  get address(): string {
    return this.#transport.address;
  }

  /** Sends an operation and parses its response. A problem becomes a `CliError` with what to do about it. */
  call<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType, Answer extends z.ZodType>(
    operation: Operation<Params, Query, Body, Answer>,
    options: CallOptions<Params, Query, Body> = {},
  ): Promise<z.output<Answer>> {
    return this.send(operation, options);
  }

  /** The same for members that are known only when the command runs; the server checks them. */
  async send<Answer extends z.ZodType>(
    operation: Operation<z.ZodType, z.ZodType, z.ZodType, Answer>,
    { params, query, body, advice = {} }: ApiRequest,
  ): Promise<z.output<Answer>> {
    const { method, path } = operation;
    const response = await this.#transport.send({
      method,
      path: fillPath(path, params) + queryText(query),
      body,
    });
    if (response.status < 200 || response.status > 299) throw problemError(response, this.address, advice);
    return this.#read(operation, response.body);
  }

  /** Streams events in order until the signal. A connection that breaks is {@link Unreachable}. */
  async follow<Answer extends z.ZodType>(
    operation: Operation<z.ZodType, z.ZodType, z.ZodType, Answer>,
    options: FollowOptions,
  ): Promise<AsyncGenerator<StreamedEvent<z.output<Answer>>>> {
    if (!this.#transport.follow) throw notRunning(this.address);
    const stream = await this.#transport.follow(operation.path, options);
    if (!stream.chunks) throw problemError(stream, this.address, {});
    return this.#events(operation, stream.chunks, options.signal);
  }

  async *#events<Answer extends z.ZodType>(
    operation: Operation<z.ZodType, z.ZodType, z.ZodType, Answer>,
    chunks: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncGenerator<StreamedEvent<z.output<Answer>>> {
    for await (const { id, event, data } of limitedEvents(chunks)) {
      if (data === undefined) yield { id };
      else if (event === operation.events)
        yield { id, data: this.#read(operation, parseJsonOr(data, undefined)) };
    }
    if (!signal.aborted) throw connectionEnded(this.address);
  }

  #read<Answer extends z.ZodType>(
    { answer }: Pick<Operation<z.ZodType, z.ZodType, z.ZodType, Answer>, "answer">,
    value: unknown,
  ): z.output<Answer> {
    const read = answer.safeParse(value);
    if (read.success) return read.data;
    throw incompatible("Its response does not match the API", this.address, read.error);
  }
}

/** An approval is at most a megabyte. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024;

async function* limitedEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  try {
    yield* readSse(chunks, new SseParser(MAX_EVENT_LENGTH));
  } catch (error) {
    if (!(error instanceof EventTooLarge)) throw error;
    throw new Unreachable(
      "An event is too long to be one of Reins.",
      "Check that a Reins runs at the address.",
      error,
    );
  }
}

function fillPath(path: string, params: unknown): string {
  const names = new Map(Object.entries(typeof params === "object" && params !== null ? params : {}));
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names.get(name))));
}

function queryText(query: unknown): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(typeof query === "object" && query !== null ? query : {}))
    if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? "" : `?${parameters}`;
}

function notRunning(address: string): Unreachable {
  return new Unreachable(
    `No Reins runs on ${address}, so there is nothing to follow.`,
    "Start it in another terminal: reins up",
  );
}

function connectionEnded(address: string): Unreachable {
  return new Unreachable(
    `The connection to Reins at ${address} ended.`,
    "It may be stopping: run the same command again once it is up.",
  );
}
