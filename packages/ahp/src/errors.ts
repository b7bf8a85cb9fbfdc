/** The kind of a local error. */
export type AhpErrorCode =
  | "protocol"
  | "serialization"
  | "unsupported"
  | "transport"
  | "authentication"
  | "io"
  | "timeout"
  | "closed"
  | "invalid_decision"
  | "other";

const PREFIX: Readonly<Record<AhpErrorCode, string>> = {
  protocol: "Protocol error: ",
  serialization: "Serialization error: ",
  unsupported: "Capability not supported: ",
  transport: "Transport error: ",
  authentication: "Authentication failed: ",
  io: "IO error: ",
  timeout: "",
  closed: "",
  invalid_decision: "Invalid decision: ",
  other: "",
};

/** The text that the protocol's implementations give for an error of that kind. */
export function layered(code: AhpErrorCode, text: string): string {
  return PREFIX[code] + text;
}

/** More about an {@link AhpError}. */
export interface AhpErrorOptions extends ErrorOptions {
  /** The error that the other side answered with, if it did. */
  readonly rpc?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/**
 * An error of this package. `message` is the layered text that the protocol's implementations share
 * (`Protocol error: …`); `code` is for programs and never goes on the wire.
 */
export class AhpError extends Error {
  override readonly name = "AhpError";
  readonly code: AhpErrorCode;
  readonly rpc: AhpErrorOptions["rpc"];

  constructor(code: AhpErrorCode, text: string, options: AhpErrorOptions = {}) {
    super(layered(code, text), options);
    this.code = code;
    this.rpc = options.rpc;
  }

  /** `Timeout after Nms` */
  static timeout(milliseconds: number): AhpError {
    return new AhpError("timeout", `Timeout after ${milliseconds}ms`);
  }

  /** `Connection closed` */
  static closed(cause?: unknown): AhpError {
    return new AhpError("closed", "Connection closed", { cause });
  }
}

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

/** Further members of `error.data`, such as the path of a fault or the exceeded limit. */
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
