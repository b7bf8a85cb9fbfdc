import { duplicatesAtTop, type Floats, JsonError, type ParsedJson, parseJson } from "@reins/kit";
import { Refusal, RPC } from "../errors.ts";
import { stringifySorted } from "../json/stringify.ts";
import { AhpNotification, AhpRequest } from "../protocol/messages.ts";
import { DecodeError, decode, isObject } from "../wire/decode.ts";

/** The id of a request and its response. */
export type MessageId = string | number | null;

/** A message that its sender waits on. */
export interface RequestMessage {
  readonly kind: "request";
  readonly id: MessageId;
  readonly method: string;
  readonly params: unknown;
  readonly floats: Floats | undefined;
}

/** A message without a response. */
export interface NotificationMessage {
  readonly kind: "notification";
  readonly method: string;
  readonly params: unknown;
  readonly floats: Floats | undefined;
}

/** A message whose envelope was read. */
export type Message =
  | RequestMessage
  | NotificationMessage
  /** Not JSON. */
  | { readonly kind: "unreadable"; readonly refusal: Refusal }
  /** JSON, but no message; `answerable` is false for one that looks like a response, so that errors never echo. */
  | {
      readonly kind: "malformed";
      readonly id: MessageId;
      readonly refusal: Refusal;
      readonly answerable: boolean;
    };

const INVALID_MESSAGE = "Invalid JSON-RPC message";

/** Reads the envelope of one message. */
export function readMessage(text: string, compat: boolean, http: boolean): Message {
  let parsed: ParsedJson;
  try {
    parsed = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const details = { fault: error.fault, detail: error.message };
    return {
      kind: "unreadable",
      refusal: new Refusal(RPC.parseError, "Parse error", "parse_error", details, error),
    };
  }
  return compat ? readAsUpstream(parsed, text, http) : readStrictly(parsed);
}

function readStrictly({ value, floats, duplicateKeys }: ParsedJson): Message {
  const refuse = (
    reason: "duplicate_key" | "invalid_id" | "unsupported_jsonrpc" | "invalid_message",
    detail: string,
  ) => malformed(value, new Refusal(RPC.invalidRequest, INVALID_MESSAGE, reason, { detail }));
  if (duplicateKeys) return refuse("duplicate_key", "an object names a key twice");
  const message = decodeEnvelope(value, floats);
  if (!message) return refuse("invalid_message", "not a request and not a notification");
  const { id, jsonrpc } = message;
  if (jsonrpc !== "2.0") return refuse("unsupported_jsonrpc", 'jsonrpc must be "2.0"');
  const { method, params } = message;
  if (id === undefined || id === null) return { kind: "notification", method, params, floats };
  if (typeof id === "string" || isIntegerId(value, id, floats))
    return { kind: "request", id, method, params, floats };
  return refuse("invalid_id", "id must be a string or an integer");
}

/** Upstream treats every message without a string id as a notification, and rejects repeated members. */
function readAsUpstream({ value, floats, duplicateKeys }: ParsedJson, text: string, http: boolean): Message {
  const repeated = duplicateKeys && !http ? duplicatesAtTop(text) : undefined;
  const message = decodeEnvelope(value, floats);
  const unusable = ["jsonrpc", "method", "params"].some((member) => repeated?.has(member));
  if (!message || unusable) {
    return malformed(value, new Refusal(RPC.invalidRequest, INVALID_MESSAGE, "invalid_message"));
  }
  const { id, method, params } = message;
  if (typeof id === "string" && !repeated?.has("id")) return { kind: "request", id, method, params, floats };
  return { kind: "notification", method, params, floats };
}

interface Envelope {
  readonly jsonrpc: string;
  readonly id?: unknown;
  readonly method: string;
  readonly params: unknown;
}

function decodeEnvelope(value: unknown, floats: Floats | undefined): Envelope | undefined {
  if (isObject(value)) {
    const { jsonrpc, id, method, params } = value;
    if (typeof jsonrpc !== "string" || typeof method !== "string" || params === undefined) return undefined;
    return { jsonrpc, id, method, params };
  }
  for (const schema of [AhpRequest, AhpNotification]) {
    try {
      return decode(schema, value, floats);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return undefined;
}

function isIntegerId(holder: unknown, id: unknown, floats: Floats | undefined): id is number {
  return Number.isSafeInteger(id) && !(isObject(holder) && floats?.has(holder, "id"));
}

function malformed(value: unknown, refusal: Refusal): Message {
  if (!isObject(value)) return { kind: "malformed", id: null, refusal, answerable: true };
  const answerable = typeof value.method === "string" || !("result" in value || "error" in value);
  return { kind: "malformed", id: idIn(value), refusal, answerable };
}

function idIn({ id }: Record<string, unknown>): MessageId {
  if (typeof id === "string") return id;
  const number = JSON.isRawJSON(id) ? Number(id.rawJSON) : id;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null;
}

/** The text of a response; `result` is JSON already. */
export function resultText(id: MessageId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

/** The text of an error response; upstream sends no `data`. */
export function errorText(id: MessageId, refusal: Refusal, compat: boolean): string {
  const message = JSON.stringify(refusal.message.toWellFormed());
  const data = compat ? "" : `,"data":${stringifySorted({ ...refusal.details, reason: refusal.reason })}`;
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":${refusal.code},"message":${message}${data}}}`;
}
