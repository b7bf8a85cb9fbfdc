import { DecodeError, decode, isObject, type ParsedJson, parseJson, RPC } from "@reins/ahp";
import type { z } from "zod";
import { Unmet } from "./check.ts";
import type { Mutation } from "./mutations.ts";
import type { Offered } from "./probe.ts";

/** The result of an answer; what is not a result fails the check. */
export function expectResult(answer: HarnessResponse, about = "the request"): unknown {
  if (answer.error) throw new Unmet(`${about} got ${spell(answer.error)} instead of a result`, answer);
  if (answer.result === undefined || answer.result === null)
    throw new Unmet(`${about} got no result`, answer);
  return answer.result;
}

/** The result as a type of the protocol. Peers would also take arrays for objects; a harness should not count on it. */
export function expectDecoded<Output>(
  schema: z.ZodType<Output>,
  answer: HarnessResponse,
  about?: string,
): Output {
  return decodeOrFail(schema, expectResult(answer, about), answer);
}

/** A part of the result as a type of the protocol. */
export function decodeOrFail<Output>(
  schema: z.ZodType<Output>,
  value: unknown,
  answer: HarnessResponse,
): Output {
  if (!isObject(value)) throw new Unmet("the result is not an object", answer);
  try {
    return decode(schema, value, answer.floats);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const where = error.path.length > 0 ? ` at ${error.path.join(".")}` : "";
    throw new Unmet(`the result does not decode: ${error.message}${where}`, answer);
  }
}

/** The error of an answer, with one of the given codes. */
export function expectError(
  answer: HarnessResponse,
  codes: readonly number[],
  about = "the request",
): ResponseError {
  const { error } = answer;
  const expected = codes.join(" or ");
  if (!error) throw new Unmet(`${about} should be refused with ${expected} and was not`, answer);
  if (codes.some((code) => code === error.code)) return error;
  throw new Unmet(`${about} should be refused with ${expected}, not with ${spell(error)}`, answer);
}

/** The error text begins as upstream's does. */
export function expectText(answer: HarnessResponse, code: number, prefix: string): void {
  const { message } = expectError(answer, [code]);
  if (!message.startsWith(prefix)) throw new Unmet(`the error text should begin with ${prefix}`, answer);
}

/** Every mutation was refused as invalid params; with `named`, by an error that names the member. */
export function expectAllRefused(
  mutations: readonly Mutation[],
  answers: readonly HarnessResponse[],
  codes: readonly number[] = [RPC.invalidParams],
  named = false,
): void {
  for (const [index, answer] of answers.entries()) {
    const mutation = mutations[index];
    const error = expectError(answer, codes, mutation?.what);
    if (named && mutation && !error.message.includes(mutation.member))
      throw new Unmet(`the error does not name the missing member ${mutation.member}`, answer);
  }
}

/** Nothing came back (over HTTP: 204 without a body), and the connection still works. */
export function expectUnanswered({ answers, reply, sent, ...offered }: Offered): void {
  const [answer] = answers;
  if (answer) throw new Unmet("a message that wants no answer was answered", answer);
  if (reply && (reply.status !== 204 || reply.text !== "")) {
    const shown = { sent, text: reply.text ?? "", status: reply.status };
    throw new Unmet(`expected HTTP status 204 without a body, got ${reply.status}`, shown);
  }
  expectAlive(offered);
}

/** Over HTTP the sender learns that its notification was refused; on a stream there is no response. */
export function expectNotificationRefused(offered: Offered): void {
  if (!offered.reply) {
    expectUnanswered(offered);
    return;
  }
  const [answer] = offered.answers;
  if (!answer) throw new Unmet(`a bad notification got HTTP status ${offered.reply.status} and no error`);
  expectError(answer, [RPC.internalError, RPC.invalidParams], "a bad notification");
}

/** Nothing was done about the message: silence or an error, and the connection still works. */
export function expectNothingDone(offered: Offered, about = "the message"): void {
  for (const answer of offered.answers) {
    if (!answer.error) throw new Unmet(`${about} should not be answered with a result`, answer);
  }
  expectAlive(offered);
}

/** The harness still answers. */
export function expectAlive({ alive, ended }: Pick<Offered, "alive" | "ended">): void {
  if (!alive) throw new Unmet(`the harness no longer answers: ${ended ?? "silence"}`);
}

function spell({ code, message }: ResponseError): string {
  return `error ${String(code)} "${message}"`;
}

/** The error of a response, as far as it can be made out. */
export interface ResponseError {
  readonly code: unknown;
  readonly message: string;
  readonly data: unknown;
}

/**
 * A response as it came. Reading it is lenient, so that one fault of a harness fails the check about that fault
 * and not every check there is.
 */
export interface HarnessResponse {
  /** What it answers. */
  readonly sent: string;
  readonly text: string;
  /** Only over HTTP. */
  readonly status: number | undefined;
  /** The whole message. */
  readonly message: Readonly<Record<string, unknown>>;
  /** Absent when there is none; `null` when it is `null`. */
  readonly result: unknown;
  readonly error: ResponseError | undefined;
  /** How the numbers of the message were spelled. */
  readonly floats: ParsedJson["floats"];
}

/** Reads a response; absent when the text is none. */
export function readResponse(sent: string, text: string, status?: number): HarnessResponse | undefined {
  try {
    const { value: message, floats } = parseJson(text);
    if (!isObject(message)) return undefined;
    const error = isObject(message.error) ? readError(message.error) : undefined;
    return { sent, text, status, message, result: message.result, error, floats };
  } catch {
    return undefined;
  }
}

function readError({ code, message, data }: Record<string, unknown>): ResponseError {
  return { code, message: typeof message === "string" ? message : "", data };
}
