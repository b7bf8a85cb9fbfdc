import type { Duplex } from "node:stream";

/**
 * Says a last thing over a socket that no HTTP exchange owns any more, and hangs up. A peer that keeps its side open
 * cannot keep the connection, and one that has gone already harms nobody.
 */
export function hangUp(socket: Duplex, status: string, text = ""): void {
  socket.on("error", () => socket.destroy());
  const head = [
    `HTTP/1.1 ${status}`,
    "connection: close",
    "content-type: text/plain; charset=utf-8",
    `content-length: ${Buffer.byteLength(text)}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy());
}
