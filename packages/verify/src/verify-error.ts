/** Why nothing could be verified at all. What is wrong with a ledger is a fault in the report, never an error. */
export type VerifyErrorCode =
  | "bad_option"
  | "unreadable"
  | "unreachable"
  | "refused"
  | "no_ledger"
  | "no_webcrypto";

/** Thrown when there is nothing to verify or nothing to verify with. */
export class VerifyError extends Error {
  override readonly name = "VerifyError";
  readonly code: VerifyErrorCode;
  /** Whether trying again, with nothing changed, can help. */
  readonly retryable: boolean;

  constructor(
    code: VerifyErrorCode,
    message: string,
    options: { readonly retryable?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
