import { errorMessage, type JsonObject, parseExact } from "@reins/kit";

export type { JsonObject };

/** The id of a JSON-RPC request, returned unchanged in its response. */
export type RequestId = string | number | null;

/** A message by its kind. */
export type Classified =
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | { readonly kind: "result"; readonly id: RequestId; readonly result: unknown }
  | { readonly kind: "error"; readonly id: RequestId; readonly error: unknown }
  | { readonly kind: "malformed"; readonly id: RequestId; readonly reason: string };

/** Tells requests, notifications and responses apart. */
export function classify(message: JsonObject): Classified {
  const { method, params } = message;
  const id = idIn(message);
  if (message.jsonrpc !== "2.0") return malformed(id, 'a message needs "jsonrpc": "2.0"');
  if (typeof method === "string") {
    if ("result" in message || "error" in message)
      return malformed(id, "a message is either a request or a response");
    if (!("id" in message)) return { kind: "notification", method, params };
    return id === undefined
      ? malformed(id, "an id is text, a number or null")
      : { kind: "request", id, method, params };
  }
  if (id === undefined) return malformed(id, "a message needs a method or an id");
  if ("error" in message) return { kind: "error", id, error: message.error };
  if ("result" in message) return { kind: "result", id, result: message.result };
  return malformed(id, "a response needs a result or an error");
}

function idIn({ id }: JsonObject): RequestId | undefined {
  return typeof id === "string" || typeof id === "number" || id === null ? id : undefined;
}

function malformed(id: RequestId | undefined, reason: string): Classified {
  return { kind: "malformed", id: id ?? null, reason };
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of a value that should be an object; none when it is not. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Parses a JSON object; the result is empty for anything else. */
export function parseObject(json: string): JsonObject {
  try {
    return membersOf(parseExact(json));
  } catch {
    return {};
  }
}

/** Error codes of JSON-RPC and ACP. */
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

/** An error with a code of JSON-RPC or ACP. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.data = data;
  }

  /** Parses the error of a response. Agents write errors in several ways; the message is kept. */
  static read(error: unknown): RpcError {
    if (!isObject(error)) return new RpcError(CODE.internal, String(error));
    const { code, message, data } = error;
    return new RpcError(
      typeof code === "number" ? code : CODE.internal,
      typeof message === "string" ? message : "it failed without a reason",
      data,
    );
  }

  /** Maps any error to one that can be sent. */
  static of(error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    return new RpcError(CODE.internal, errorMessage(error));
  }

  /** The error object of a JSON-RPC response. */
  toWire(): { code: number; message: string; data?: unknown } {
    return { code: this.code, message: this.message, ...(this.data !== undefined && { data: this.data }) };
  }
}

/** The error of a prompt whose turn was cut off, or cannot start, for a reason that is not its own. */
export function interruptedBy(why: string): RpcError {
  const message = `${why} before this was answered; what was under way may or may not have happened`;
  return new RpcError(CODE.internal, message, { interrupted: true });
}
