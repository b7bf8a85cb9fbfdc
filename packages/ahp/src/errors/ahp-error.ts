/** What kind of thing went wrong, on this side of the wire. */
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
  /** Whether the same call may succeed when it is made again. By code, unless said otherwise. */
  readonly retryable?: boolean;
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
  readonly retryable: boolean;
  readonly rpc: AhpErrorOptions["rpc"];

  constructor(code: AhpErrorCode, text: string, options: AhpErrorOptions = {}) {
    super(layered(code, text), options);
    this.code = code;
    this.retryable =
      options.retryable ?? (code === "transport" || code === "timeout" || code === "closed" || code === "io");
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
