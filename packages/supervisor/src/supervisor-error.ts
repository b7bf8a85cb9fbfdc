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
