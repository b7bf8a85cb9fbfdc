/** What can be wrong with a model, in one word. */
export type ModelErrorCode =
  | "unauthorized"
  | "unpaid"
  | "not_configured"
  | "not_found"
  | "bad_request"
  | "context_exceeded"
  | "rate_limited"
  | "overloaded"
  | "unavailable"
  | "cut_off"
  | "too_long";

/** What may be known of a failure. */
export interface ModelErrorDetails extends ErrorOptions {
  readonly status?: number | undefined;
  /** How long the other side wants to be left alone. */
  readonly retryAfterMs?: number | undefined;
  /** Which limit was hit, where one was. */
  readonly limit?: "tokens" | "requests" | undefined;
}

const RETRYABLE: ReadonlySet<ModelErrorCode> = new Set([
  "rate_limited",
  "overloaded",
  "unavailable",
  "cut_off",
]);

/** A model that did not answer, why, and what to do. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly code: ModelErrorCode;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly limit: "tokens" | "requests" | undefined;

  constructor(
    code: ModelErrorCode,
    message: string,
    { status, retryAfterMs, limit, cause }: ModelErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.limit = limit;
  }

  /** Whether the same request may work later. */
  get isRetryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}
