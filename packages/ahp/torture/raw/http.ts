import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type HttpReply, readReplies } from "./http-reply.ts";

/** A connection to an HTTP server: bytes out, responses in. */
export interface RawHttp {
  readonly socket: Socket;
  /** Settles when it is closed, on whichever side. */
  readonly closed: Promise<void>;
  send(bytes: Buffer | string): void;
  /** Waits for so many responses, or for the end; takes out all that are there. Rejects when they are none. */
  replies(count: number): Promise<HttpReply[]>;
}

/** Connects to the server of a URL. */
export async function rawHttp(url: string): Promise<RawHttp> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  return rawHttpOn(socket);
}

/** Speaks over a socket that is connected. */
export function rawHttpOn(socket: Socket): RawHttp {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let held: Buffer = Buffer.alloc(0);
  let there: HttpReply[] = [];
  let fault: unknown;
  let changed = () => {};
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    try {
      const { replies, rest } = readReplies(Buffer.concat([held, chunk]));
      held = rest;
      there.push(...replies);
    } catch (error) {
      fault = error;
    }
    changed();
  });
  socket.once("close", () => {
    resolve();
    changed();
  });
  return {
    socket,
    closed,
    send: (bytes) => void socket.write(bytes),
    async replies(count) {
      while (there.length < count && !socket.closed && fault === undefined) {
        const next = Promise.withResolvers<void>();
        changed = next.resolve;
        await next.promise;
      }
      if (fault !== undefined) throw fault;
      const taken = there;
      there = [];
      return taken;
    },
  };
}
