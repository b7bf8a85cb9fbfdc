/** The server, or the way there, turned a request down before anything was done about it. */
export class NotDelivered extends Error {
  override readonly name = "NotDelivered";
}

/** Ways in which a connection fails before anything was said over it. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether a request that failed may have reached the server. In doubt, it may. */
export function mayHaveArrived(error: unknown): boolean {
  if (error instanceof NotDelivered) return false;
  const code = error instanceof Error ? Reflect.get(Object(error.cause), "code") : undefined;
  return !NEVER_CONNECTED.has(String(code));
}

/** What happened to a request, in the words of whoever noticed. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== ""
    ? `${error.message}: ${error.cause.message}`
    : error.message;
}
