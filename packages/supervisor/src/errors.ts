import { hasCode, memberFaults } from "@reins/kit";
import { LedgerError } from "@reins/ledger";
import { StoreError } from "@reins/store";
import { z } from "zod";

/** What went wrong on the way to a verdict. */
export type SupervisorErrorCode =
  /** No such approval, user, token or run. */
  | "not_found"
  /** It has been answered, has expired or was withdrawn already. */
  | "conflict"
  /** The one who asks may not. */
  | "forbidden"
  /** Not what it should be. */
  | "invalid";

/** An error of the supervisor. */
export class SupervisorError extends Error {
  override readonly name = "SupervisorError";
  readonly code: SupervisorErrorCode;

  constructor(code: SupervisorErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Why a request came to nothing: the body of an `application/problem+json` answer (RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: SupervisorErrorCode | "unavailable";
  /** For `invalid`: what is wrong, member by member. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

const KINDS: Readonly<Record<Problem["code"], readonly [status: number, title: string]>> = {
  invalid: [400, "Bad Request"],
  forbidden: [403, "Forbidden"],
  not_found: [404, "Not Found"],
  conflict: [409, "Conflict"],
  unavailable: [503, "Service Unavailable"],
};

/** Maps an error to an HTTP problem. Rethrows errors that have none. */
export function problemOf(error: unknown): Problem {
  if (error instanceof SupervisorError) return problem(error.code, error.message, error.cause);
  if (error instanceof StoreError || error instanceof LedgerError)
    return problem("unavailable", "the change could not be written down, so it was not made");
  if (isOutOfRoom(error)) return problem("unavailable", "the disk is full; free space, and try again");
  throw error;
}

/** Whether something failed, at first or because of that, for want of room on the disk. */
function isOutOfRoom(error: unknown): boolean {
  if (hasCode(error, "ENOSPC", "EDQUOT")) return true;
  return error instanceof Error && error.cause !== undefined && isOutOfRoom(error.cause);
}

function problem(code: Problem["code"], detail: string, cause?: unknown): Problem {
  const [status, title] = KINDS[code];
  const found = { type: `urn:reins:problem:${code}`, title, status, detail, code };
  if (!(cause instanceof z.ZodError)) return found;
  return { ...found, errors: memberFaults(cause) };
}
