import { isObject } from "./message.ts";

/** Codes of JSON-RPC and ACP. */
export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  authRequired: -32000,
  notFound: -32002,
  cancelled: -32800,
} as const;

/** An error that goes over the wire. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.data = data;
  }

  /** What an answer says went wrong. Agents write errors in several ways; the words are kept. */
  static read(error: unknown): RpcError {
    if (!isObject(error)) return new RpcError(CODE.internal, String(error));
    const { code, message, data } = error;
    return new RpcError(
      typeof code === "number" ? code : CODE.internal,
      typeof message === "string" ? message : "it failed without saying why",
      data,
    );
  }

  /** The error that a failure becomes for the other side. */
  static of(error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    return new RpcError(CODE.internal, error instanceof Error ? error.message : String(error));
  }

  /** As JSON-RPC has it. */
  toWire(): { code: number; message: string; data?: unknown } {
    return { code: this.code, message: this.message, ...(this.data !== undefined && { data: this.data }) };
  }
}
