import { codeOfStatus, Problem, type ProblemCode } from "@reins/api";

/** Why a request reached no Reins, or a stream was given up. */
export type ConnectionFault =
  /** Nothing answered, or the connection broke before the response. What was sent may or may not have happened. */
  | "unreachable"
  /** The connection was closed, by the caller or by the server. */
  | "closed"
  /** The response is none that a Reins of this version sends. */
  | "incompatible"
  /** Events were not read for a minute while more arrived than are buffered. */
  | "slow_reader";

/** The server could not be reached, or did not respond as a Reins does. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code: ConnectionFault;

  constructor(code: ConnectionFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The server refused a request: `code` is for programs, `message` says what happened and what to do. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: ProblemCode | (string & {});
  readonly title: string;
  /** What happened, and what to do about it. */
  readonly detail: string;
  /** What is wrong with the request, member by member. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  /** When it may be tried again, in milliseconds from the response on, if the server says so (`Retry-After`). */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, body: unknown, retryAfterMs?: number) {
    const { data } = Problem.safeParse(body);
    const { title = `The server answered with status ${status}`, detail = "", errors = [] } = data ?? {};
    super(detail === "" ? title : `${title}: ${detail}`);
    this.status = status;
    this.code = data?.code ?? codeOfStatus(status);
    this.title = title;
    this.detail = detail;
    this.errors = errors;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A turn was cut off because Reins or its agent ended. Its last effects may or may not have happened. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}

/** The ledger is not what it was when its checkpoint was kept, or a proof of it does not hold. */
export class LedgerProofError extends Error {
  override readonly name = "LedgerProofError";
}
