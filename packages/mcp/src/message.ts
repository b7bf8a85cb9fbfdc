import { exactNumber, parseSpelled } from "@reins/kit";

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
  /** A header does not say what the body says. */
  headerMismatch: -32_020,
  /** The client lacks a capability that the request needs. */
  missingCapability: -32_021,
  /** The revision of the protocol is not spoken. */
  unsupportedVersion: -32_022,
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

/** The kind of a message; one with a method is a request or a notification, whatever else it contains. */
export type Kind = "request" | "notification" | "response" | "invalid";

/** Classifies a message. */
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

/** A response that says what went wrong; its sender adds the id. */
export function failure(code: number, message: string): Message {
  return { jsonrpc: "2.0", error: { code, message } };
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

const VERSION = "io.modelcontextprotocol/protocolVersion";
/** From this revision on there is no handshake and no session; revisions are dates. */
const FIRST_MODERN = "2026-07-28";

/** The revision that a request says it is of, as each does since 2026. */
export function revisionOf(message: Message): string | undefined {
  const version = objectIn(objectIn(message, "params"), "_meta")?.[VERSION];
  return typeof version === "string" ? version : undefined;
}

/** Whether a revision is one in which each request stands for itself. */
export function isModernRevision(revision: string | undefined): boolean {
  return revision !== undefined && revision >= FIRST_MODERN;
}

/** Whether a request is of such a revision. */
export function isModern(message: Message): boolean {
  return isModernRevision(revisionOf(message));
}

/** The value as plain data, but for numbers that do not fit into JavaScript's: those keep their digits. */
export function toPlain(value: unknown): unknown {
  return plain(value, exactNumber);
}

/** The value as plain data, its numbers as near as JavaScript comes. For what is only shown or compared. */
export function toNearlyPlain(value: unknown): unknown {
  return plain(value, Number);
}

/** Gives the value itself where it is plain already. */
function plain(value: unknown, read: (source: string) => unknown): unknown {
  if (!isContainer(value)) return value;
  if (JSON.isRawJSON(value)) return read(value.rawJSON);
  if (Array.isArray(value)) {
    const items = value.map((item) => plain(item, read));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const members = Object.entries(value).map(([name, member]) => [name, member, plain(member, read)] as const);
  if (members.every(([, before, after]) => before === after)) return value;
  return Object.fromEntries(members.map(([name, , after]) => [name, after]));
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
