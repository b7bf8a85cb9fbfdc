import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { hangUp } from "@reins/ahp";
import { codeOfStatus, PROBLEM_TYPE, type Problem, type ProblemCode, problem } from "@reins/api";
import { errorMessage } from "@reins/kit";

/** What goes along with a refusal. */
export interface HttpProblemOptions extends ErrorOptions {
  readonly errors?: Problem["errors"];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why a request is not answered as asked; whoever asked is told exactly this. */
export class HttpProblem extends Error {
  override readonly name = "Refusal";
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;

  constructor(told: Problem | ProblemCode, detail = "", options: HttpProblemOptions = {}) {
    const found = typeof told === "string" ? problem(told, detail, options.errors) : told;
    super(found.detail, options);
    this.problem = found;
    this.headers = options.headers ?? {};
  }
}

/** What whoever asked is told about a request that the framework would not take. */
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

/** The refusal that an error of the framework stands for; `undefined` if it is none of those, and so a fault of ours. */
export function frameworkProblem(error: unknown): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error;
  if (!(error instanceof Error)) return undefined;
  const status = "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 500;
  const code = "code" in error ? String(error.code) : "";
  if (status === 500 || (status > 500 && !code.startsWith("FST_ERR_"))) return undefined;
  return httpProblem(codeOfStatus(status), error);
}

/** A refusal of a kind, in words that fit any request. */
export function httpProblem(code: ProblemCode, cause?: unknown): HttpProblem {
  return new HttpProblem(code, DETAILS[code] ?? "the request was refused", { cause });
}

/** What whoever wanted an agent is told when it cannot be had. */
export function agentProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  const detail = errorMessage(error);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "unknown_agent" || code === "unsupported_agent")
    return new HttpProblem("invalid", detail, { cause: error });
  if (code === "agent_not_installed") return new HttpProblem("not_found", detail, { cause: error });
  return new HttpProblem("bad_gateway", detail, { cause: error });
}

/** What browsers are told about every answer. None may be kept: they are for whoever asked. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

const HEADERS = Object.entries(SECURITY_HEADERS);

/** Sets them on an answer, whoever writes it. */
export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of HEADERS) response.setHeader(name, value);
}

/** Tells a refusal over a connection that no answer owns, and hangs up. */
export function closeWithProblem(socket: Duplex, { problem, headers }: HttpProblem): void {
  if (!socket.writable) return;
  const body = JSON.stringify(problem);
  hangUp(socket, problem.status, { type: PROBLEM_TYPE, body }, { ...SECURITY_HEADERS, ...headers });
}
