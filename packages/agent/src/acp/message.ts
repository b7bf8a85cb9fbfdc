/** An object of JSON, as it came; what we do not know in it stays. */
export type JsonObject = Record<string, unknown>;

/** The id of a request, which goes back as it came. */
export type RequestId = string | number | null;

/** What a message is. */
export type Sorted =
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | { readonly kind: "result"; readonly id: RequestId; readonly result: unknown }
  | { readonly kind: "error"; readonly id: RequestId; readonly error: unknown }
  | { readonly kind: "malformed"; readonly id: RequestId };

/** Tells requests, notifications and answers apart. */
export function sort(message: JsonObject): Sorted {
  const { method, params, id } = message;
  const isId = typeof id === "string" || typeof id === "number" || id === null;
  if (typeof method === "string") {
    if (id === undefined) return { kind: "notification", method, params };
    return isId ? { kind: "request", id, method, params } : { kind: "malformed", id: null };
  }
  if (!isId) return { kind: "malformed", id: null };
  if ("error" in message) return { kind: "error", id, error: message.error };
  return "result" in message ? { kind: "result", id, result: message.result } : { kind: "malformed", id };
}

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of a value that should be an object; none when it is not. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
