import type { IncomingMessage, ServerResponse } from "node:http";

/** Answers a request that is not, or cannot be, answered by a server, and says why. */
export function refuse(
  response: ServerResponse,
  status: number,
  why: string,
  headers: Record<string, string> = {},
): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message: why } });
  sendJson(response, status, body, headers);
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  const length = String(Buffer.byteLength(body));
  response
    .writeHead(status, { ...headers, "content-type": "application/json", "content-length": length })
    .end(body);
}

/** A header that occurs once, or nothing. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
}

/** Whether the agent takes an answer of that type. */
export function accepts(request: IncomingMessage, type: "application/json" | "text/event-stream"): boolean {
  const offered = (request.headers.accept ?? "").toLowerCase().split(",");
  const [family] = type.split("/");
  return offered.some((one) => [type, `${family}/*`, "*/*"].includes(one.split(";")[0]?.trim() ?? ""));
}
