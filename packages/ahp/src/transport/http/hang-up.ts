import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { plainRefusal, type RefusalText } from "./refusal.ts";

/**
 * Says a last thing over a socket that no HTTP exchange owns any more, and hangs up. A peer that keeps its side open
 * cannot keep the connection, and one that has gone already harms nobody.
 */
export function hangUp(
  socket: Duplex,
  status: number,
  { type, body }: RefusalText = plainRefusal(status, ""),
  headers: Readonly<Record<string, string>> = {},
): void {
  socket.on("error", () => socket.destroy());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "connection: close",
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
