/** The JSON-RPC error codes that AHP servers answer with. */
export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  unsupportedVersion: -32000,
  handshakeRequired: -32001,
  busy: -32002,
} as const;

/** Why a message was refused, for programs; travels as `error.data.reason`. */
export type RefusalReason =
  | "parse_error"
  | "invalid_message"
  | "duplicate_key"
  | "invalid_id"
  | "unsupported_jsonrpc"
  | "method_not_found"
  | "invalid_params"
  | "unsupported_version"
  | "handshake_required"
  | "depth_exceeded"
  | "invalid_payload"
  | "must_be_notification"
  | "must_be_request"
  | "batch_too_large"
  | "not_batchable"
  | "not_supported"
  | "invalid_decision"
  | "handler_failed"
  | "handler_timeout"
  | "busy";

/** What else `error.data` says: the place of a fault, the limit that was passed. */
export type RefusalDetails = Readonly<Record<string, unknown>>;

/** A message that is answered with an error. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: number;
  readonly reason: RefusalReason;
  readonly details: RefusalDetails;

  constructor(
    code: number,
    message: string,
    reason: RefusalReason,
    details: RefusalDetails = {},
    cause?: unknown,
  ) {
    super(message, { cause });
    this.code = code;
    this.reason = reason;
    this.details = details;
  }
}
