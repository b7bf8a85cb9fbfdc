import { CODE, RpcError } from "@reins/acp";
import { QUEUE_FULL, REFUSED } from "@reins/host";
import { errorMessage } from "@reins/kit";

/** What can go wrong on `/ws`. */
export type HaakErrorCode =
  /** What was sent is no JSON, or no request. */
  | "invalid_request"
  | "method_not_found"
  | "invalid_params"
  /** There is no session of that key that the caller may see. */
  | "session_not_found"
  /** The key is somebody else's, or names a session of another agent. */
  | "session_conflict"
  /** The session was closed; `session.init` opens it again. */
  | "session_closed"
  /** Eight turns wait already. */
  | "queue_full"
  /** The constitution or the caller's rights do not allow it. */
  | "refused"
  /** Whoever asks may no more. */
  | "unauthenticated"
  /** The agent behind the session cannot be had. */
  | "backend_unavailable"
  | "internal";

/** An error as `/ws` tells it: a word for programs and a sentence for people. */
export class HaakError extends Error {
  override readonly name = "HaakError";
  readonly code: HaakErrorCode;

  constructor(code: HaakErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** What a failure is on `/ws`. */
  static of(error: unknown): HaakError {
    if (error instanceof HaakError) return error;
    const message = errorMessage(error);
    return new HaakError(codeOf(error), message, { cause: error });
  }
}

const CODES: ReadonlyMap<unknown, HaakErrorCode> = new Map<unknown, HaakErrorCode>([
  [QUEUE_FULL, "queue_full"],
  [REFUSED, "refused"],
  [CODE.invalidParams, "invalid_params"],
  [CODE.notFound, "session_not_found"],
  [CODE.authRequired, "unauthenticated"],
]);

function codeOf(error: unknown): HaakErrorCode {
  return (error instanceof RpcError ? CODES.get(error.code) : undefined) ?? "internal";
}
