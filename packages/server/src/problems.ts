import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { RpcError } from "@reins/acp";
import { hangUp } from "@reins/ahp";
import { codeOfStatus, PROBLEM_TYPE, type Problem, type ProblemCode, problem } from "@reins/api";
import { FileFault } from "@reins/host";
import { errorMessage, rateHeaders } from "@reins/kit";
import { problemOf, QuotaError } from "@reins/supervisor";

export interface HttpProblemOptions extends ErrorOptions {
  readonly errors?: Problem["errors"];
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error whose problem is sent to the client as it is. */
export class HttpProblem extends Error {
  override readonly name = "HttpProblem";
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;

  constructor(given: Problem | ProblemCode, detail = "", options: HttpProblemOptions = {}) {
    const found = typeof given === "string" ? problem(given, detail, options.errors) : given;
    super(found.detail, options);
    this.problem = found;
    this.headers = options.headers ?? {};
  }
}

/** The details of problems that the framework causes. */
const DETAILS: Readonly<Partial<Record<ProblemCode, string>>> = {
  invalid: "the request cannot be read",
  not_found: "there is nothing here",
  too_large: "the body is too large",
  too_long: "a part of the address is too long",
  unsupported_media_type: "bodies are sent as application/json",
  timeout: "the request took too long to arrive",
  headers_too_large: "the headers are too large",
  internal: "this is a fault of the server; its log says more",
  unavailable: "the answer took too long; try again",
};

/** Maps an error of the framework to a problem; undefined for an internal error. */
export function frameworkProblem(error: unknown): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error;
  if (error instanceof QuotaError) return quotaProblem(error);
  if (!(error instanceof Error)) return undefined;
  const status = "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 500;
  const code = "code" in error ? String(error.code) : "";
  if (status === 500 || (status > 500 && !code.startsWith("FST_ERR_"))) return undefined;
  return httpProblem(codeOfStatus(status), error);
}

/** The problem of a code, with a general detail. */
export function httpProblem(code: ProblemCode, cause?: unknown): HttpProblem {
  return new HttpProblem(code, DETAILS[code] ?? "the request was refused", { cause });
}

/** Runs a handler and maps the supervisor's errors to HTTP problems. */
export async function mapErrors<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw toHttpProblem(error);
  }
}

/** Maps an error of the supervisor to an HTTP problem. Rethrows any other. */
export function toHttpProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof QuotaError) return quotaProblem(error);
  const { errors, ...found } = problemOf(error);
  return new HttpProblem({ ...found, ...(errors && { errors: [...errors] }) }, "", { cause: error });
}

/** Runs what a caller does with files or commands, and maps its faults to problems. */
export async function callerProblems<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof FileFault) throw new HttpProblem(error.code, error.message, { cause: error });
    if (error instanceof RpcError) throw new HttpProblem("not_found", error.message, { cause: error });
    throw error;
  }
}

function quotaProblem(error: QuotaError): HttpProblem {
  const { message, quota, state, retryAfterMs } = error;
  const headers = {
    "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))),
    ...(state && rateHeaders(quota, state)),
  };
  return new HttpProblem("too_many_requests", message, { cause: error, headers });
}

/** Maps a failure to start an agent to a problem. */
export function agentProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  const detail = errorMessage(error);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "unknown_agent" || code === "unsupported_agent")
    return new HttpProblem("invalid", detail, { cause: error });
  if (code === "agent_not_installed") return new HttpProblem("not_found", detail, { cause: error });
  return new HttpProblem("bad_gateway", detail, { cause: error });
}

/** Headers of every response. Nothing may be cached, because it depends on the caller. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

const HEADERS = Object.entries(SECURITY_HEADERS);

/** Sets the security headers. */
export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of HEADERS) response.setHeader(name, value);
}

/** Writes a problem to a raw connection and closes it. */
export function closeWithProblem(socket: Duplex, { problem, headers }: HttpProblem): void {
  if (!socket.writable) return;
  const body = JSON.stringify(problem);
  hangUp(socket, problem.status, { type: PROBLEM_TYPE, body }, { ...SECURITY_HEADERS, ...headers });
}

/** The bytes of a text in base64. `Buffer` leaves out what is none, and so would change what a caller sends. */
export function base64Bytes(text: string): Buffer {
  const [padding = ""] = /={0,2}$/.exec(text.slice(-2)) ?? [];
  const digits = text.length - padding.length;
  // One expression for all of it would need a stack as long as the text.
  const isWhole = padding === "" ? digits % 4 !== 1 : text.length % 4 === 0;
  if (!isWhole || /[^A-Za-z0-9+/]/.test(text.slice(0, digits)))
    throw new HttpProblem("invalid", "the data is not base64");
  return Buffer.from(text, "base64");
}
