import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Channel } from "./channel.ts";
import { lostWhenClosed } from "./lost.ts";

/**
 * A `POST` per message over kept-alive connections, taken in turn. The requests are bytes made beforehand: an HTTP
 * library on this side would cost more than the server under measurement.
 */
export async function httpChannel(address: string, message: string, connections: number): Promise<Channel> {
  const { host, hostname, port, pathname } = new URL(address);
  const head = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(message)}`,
  ];
  const request = Buffer.from(`${head.join("\r\n")}\r\n\r\n${message}`);
  const first = Promise.withResolvers<string>();
  let told = (_: number): void => {};
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(Number(port), hostname).setNoDelay(true);
      await once(socket, "connect");
      readReplies(socket, (body, count) => {
        first.resolve(body);
        told(count);
      });
      return socket;
    }),
  );
  let next = 0;
  return {
    send: () => {
      sockets[next]?.write(request);
      next = (next + 1) % sockets.length;
    },
    onReplies: (listener) => {
      told = listener;
    },
    firstReply: first.promise,
    lost: lostWhenClosed(sockets),
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Counts responses by the length that their heads announce. */
function readReplies(socket: Socket, replied: (body: string, count: number) => void): void {
  let held = "";
  socket.on("data", (chunk: Buffer) => {
    held += chunk.toString("latin1");
    let count = 0;
    let body = "";
    for (;;) {
      const end = held.indexOf("\r\n\r\n");
      if (end < 0) break;
      const length = Number(/content-length: *(\d+)/i.exec(held.slice(0, end))?.[1]);
      if (!(held.length >= end + 4 + length)) break;
      body = held.slice(end + 4, end + 4 + length);
      held = held.slice(end + 4 + length);
      count += 1;
    }
    if (count > 0) replied(body, count);
  });
}
