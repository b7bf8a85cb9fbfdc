import { parseSpelled } from "@reins/kit";

/** A JSON object on the wire, with whatever members it came with. */
export type Message = Readonly<Record<string, unknown>>;

/** An error as JSON-RPC has it. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Error codes that go on the wire. */
export const RPC = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  /** The server is gone, or did not answer. */
  lost: -32_000,
  /** It was not allowed. */
  refused: -32_010,
} as const;

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Message {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

/** The member of an object that is an object itself, if it is one. */
export function objectIn(message: unknown, name: string): Message | undefined {
  const member = isObject(message) ? message[name] : undefined;
  return isObject(member) ? member : undefined;
}

/** The messages in a text: one, or the several of a batch. Nothing when it is no JSON. */
export function readMessages(text: string): readonly unknown[] | undefined {
  try {
    const value = parseSpelled(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return undefined;
  }
}

/** What a message is; whoever names a method asks for something, whatever else is in there. */
export type Kind = "request" | "notification" | "response" | "invalid";

/** Tells what a message is. */
export function kindOf(message: Message): Kind {
  if (Object.hasOwn(message, "method")) {
    if (typeof message.method !== "string") return "invalid";
    return Object.hasOwn(message, "id") ? "request" : "notification";
  }
  return Object.hasOwn(message, "id") ? "response" : "invalid";
}

/** Ids are compared by how they are written: they may be of any JSON type. */
export function sameId(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

/** A response that says what went wrong. */
export function errorResponse(id: unknown, error: RpcError): Message {
  return { jsonrpc: "2.0", id, error };
}

/** The error in a response, if it holds one. */
export function errorIn(response: Message): RpcError | undefined {
  const error = objectIn(response, "error");
  if (!error) return undefined;
  const { code, message, data } = error;
  return {
    code: typeof code === "number" ? code : RPC.internal,
    message: typeof message === "string" ? message : "an error without a message",
    ...(data !== undefined && { data }),
  };
}
