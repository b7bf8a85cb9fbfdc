import { type Operation, Problem, type ProblemCode } from "@reins/api";
import type { z } from "zod";
import { CliError, EXIT, type ExitCode } from "../errors.ts";
import { printable } from "../printable.ts";
import { serverEvents } from "./event-stream.ts";
import { type CarriedAnswer, type Carrier, type FollowOptions, jsonOr, Unreachable } from "./transport.ts";

/** What to do about a problem of a kind, where a command knows better than to say it in general. */
type Advice = Partial<Record<ProblemCode, string>>;

const NEXT: Advice = {
  invalid: "Add --help to see what is possible.",
  unauthenticated: "Give a token that is valid there: --token @file, or REINS_TOKEN.",
  forbidden: "Use a token of somebody who may: --token @file, or REINS_TOKEN.",
  not_found: "Check the name.",
  conflict: "Look at what is there now.",
  too_many_requests: "Wait a little, then run the same command again.",
  unavailable: "See what the log of reins up says, then run the same command again.",
};

const EXIT_CODES: ReadonlyMap<string, ExitCode> = new Map<string, ExitCode>([
  ["invalid", EXIT.usage],
  ["unauthenticated", EXIT.unreachable],
]);

/** The problem that an answer tells of, as an error for a person. */
export function problemFault({ status, body }: CarriedAnswer, place: string, advice: Advice): CliError {
  const { data } = Problem.safeParse(body);
  if (!data) return foreign(`It answered with status ${status}`, place);
  const { code, detail, errors = [] } = data;
  const faults = errors.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const known = Object.entries({ ...NEXT, ...advice }).find(([name]) => name === code)?.[1];
  return new CliError(sentence(printable(faults.join("; ") || detail)), {
    next: known ?? "See what the log of reins up says.",
    exitCode: EXIT_CODES.get(code) ?? EXIT.failed,
  });
}

/** An answer that no Reins of this version gives. */
export function foreign(what: string, place: string, cause?: unknown): CliError {
  return new CliError(`What answers at ${place} is no Reins that this one understands. ${what}.`, {
    next: "Check the address, and that both are of the same version: reins --version",
    exitCode: EXIT.unreachable,
    ...(cause !== undefined && { cause }),
  });
}

/** Words that a sentence of the harness begins with; anything else at its beginning is a name and stays as it is. */
const BEGINNINGS = /^(?:an?|it|no|nothing|only|something|that|the|there|this) /;

/** The words of the harness, which are a part of a sentence, as a whole one. */
function sentence(text: string): string {
  const begun = BEGINNINGS.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** What goes into a question. */
interface Given<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  readonly params?: z.input<Params>;
  readonly query?: z.input<Query>;
  readonly body?: z.input<Body>;
  /** What to do about a problem, where that can be said better than in general. */
  readonly advice?: Advice;
}

/** Something that happened, with the id to go on after it; or only that id. */
interface Followed<Data> {
  readonly id: string;
  readonly data?: Data;
}

/** Whoever operates a Reins, here or elsewhere: asks it for what its API offers. */
export class Operator {
  readonly #carrier: Carrier;

  constructor(carrier: Carrier) {
    this.#carrier = carrier;
  }

  /** Where that Reins is. */
  get place(): string {
    return this.#carrier.place;
  }

  /** Asks once. What comes to nothing is a `CliError` with the words of the harness and what to do. */
  async ask<
    Params extends z.ZodType,
    Query extends z.ZodType,
    Body extends z.ZodType,
    Answer extends z.ZodType,
  >(
    operation: Operation<Params, Query, Body, Answer>,
    { params, query, body, advice = {} }: Given<Params, Query, Body> = {},
  ): Promise<z.output<Answer>> {
    const { method, path } = operation;
    const answer = await this.#carrier.exchange({
      method,
      path: filled(path, params) + queryText(query),
      body,
    });
    if (answer.status < 200 || answer.status > 299) throw problemFault(answer, this.place, advice);
    return this.#read(operation, answer.body);
  }

  /** Follows what happens from when this settles on, in order, until the signal. A stream that breaks is {@link Unreachable}. */
  async follow<Answer extends z.ZodType>(
    operation: Operation<z.ZodType, z.ZodType, z.ZodType, Answer>,
    options: FollowOptions,
  ): Promise<AsyncGenerator<Followed<z.output<Answer>>>> {
    if (!this.#carrier.follow) throw nobodyRuns(this.place);
    const stream = await this.#carrier.follow(operation.path, options);
    if (!stream.text) throw problemFault(stream, this.place, {});
    return this.#events(operation, stream.text, options.signal);
  }

  async *#events<Answer extends z.ZodType>(
    operation: Operation<z.ZodType, z.ZodType, z.ZodType, Answer>,
    text: AsyncIterable<string>,
    signal: AbortSignal,
  ): AsyncGenerator<Followed<z.output<Answer>>> {
    for await (const { id, event, data } of serverEvents(text)) {
      if (data === undefined) yield { id };
      else if (event === operation.events) yield { id, data: this.#read(operation, jsonOr(data, undefined)) };
    }
    if (!signal.aborted) throw ended(this.place);
  }

  #read<Answer extends z.ZodType>(
    { answer }: Pick<Operation<z.ZodType, z.ZodType, z.ZodType, Answer>, "answer">,
    value: unknown,
  ): z.output<Answer> {
    const read = answer.safeParse(value);
    if (read.success) return read.data;
    throw foreign("Its answer is not in the form that was agreed on", this.place, read.error);
  }
}

/** A path with its names filled in. */
function filled(path: string, params: unknown): string {
  const names = new Map(Object.entries(typeof params === "object" && params !== null ? params : {}));
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names.get(name))));
}

function queryText(query: unknown): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(typeof query === "object" && query !== null ? query : {}))
    if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? "" : `?${parameters}`;
}

function nobodyRuns(place: string): Unreachable {
  return new Unreachable(
    `No Reins runs on ${place}, so there is nothing to follow.`,
    "Start it first, from another terminal: reins up",
  );
}

function ended(place: string): Unreachable {
  return new Unreachable(
    `The connection to Reins at ${place} ended.`,
    "Is it being stopped? Run the same command again once it is up.",
  );
}
