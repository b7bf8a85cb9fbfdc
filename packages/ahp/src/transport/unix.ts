import { once } from "node:events";
import { chmod, lstat, unlink } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { isMainThread } from "node:worker_threads";
import { errorMessage } from "@reins/kit";
import type { Dial } from "../client/stream-transport.ts";
import { AhpError } from "../errors.ts";
import type { AhpServer } from "../server/server.ts";
import { drain, listening, type Served } from "./connection.ts";
import { InFlight, type Limits, settleLimits } from "./limits.ts";
import { type LineConnection, lineWire, serveLines } from "./lines.ts";

/** The path of the socket, and the limits. */
export interface UnixOptions {
  readonly path: string;
  readonly limits?: Partial<Limits>;
}

/** Serves a Unix socket that only this user can open. Replaces a stale socket. */
export async function serveUnix(server: AhpServer, options: UnixOptions): Promise<Served> {
  const { path } = options;
  const limits = settleLimits(options.limits);
  const bounds = { limits, inFlight: new InFlight(limits) };
  const open = new Set<LineConnection>();
  const closed = Promise.withResolvers<void>();
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    if (open.size >= limits.maxConnections) {
      socket.destroy();
      return;
    }
    const connection = serveLines(server, { transport: "unix" }, bounds, { input: socket, output: socket });
    open.add(connection);
    socket.on("close", () => open.delete(connection));
  });
  await listenOnSocket(listener, path);
  listener.on("close", () => closed.resolve());
  return {
    address: path,
    closed: closed.promise,
    close: async () => {
      if (listener.listening) listener.close();
      await drain(open, limits.drainMs, server.settings.clock);
      await closed.promise;
    },
  };
}

/** Listens on a Unix socket that only this user can open; replaces a stale one. */
export async function listenOnSocket(listener: Server, path: string): Promise<void> {
  await removeStale(path);
  await listening(listener, path, () => listenPrivately(listener, path));
  await chmod(path, 0o600);
}

/** The socket is made with its final mode, so that there is no moment at which others could open it. */
function listenPrivately(listener: Server, path: string): void {
  if (!isMainThread) return void listener.listen(path);
  const mask = process.umask(0o177);
  try {
    listener.listen(path);
  } finally {
    process.umask(mask);
  }
}

/** Removes a socket that a dead server left behind; refuses to touch anything else. */
async function removeStale(path: string): Promise<void> {
  const there = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new AhpError("transport", `Cannot listen on ${path}: ${errorMessage(error)}`, { cause: error });
  });
  if (!there) return;
  if (!there.isSocket())
    throw new AhpError("transport", `Cannot listen on ${path}: a file that is no socket is there`);
  if (await answers(path)) {
    const cause = Object.assign(new Error("address in use"), { code: "EADDRINUSE" });
    throw new AhpError("transport", `Cannot listen on ${path}: another server listens there`, { cause });
  }
  await unlink(path);
}

function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path);
  socket.once("connect", () => resolve(true));
  socket.once("error", (error: NodeJS.ErrnoException) =>
    resolve(error.code !== "ECONNREFUSED" && error.code !== "ENOENT"),
  );
  return promise.finally(() => socket.destroy());
}

/** Connects to a Unix socket. */
export function dialUnix(path: string, maxMessageBytes: number): Dial {
  return async (events) => {
    const socket = connect(path);
    try {
      await once(socket, "connect");
    } catch (error) {
      throw new AhpError("transport", `Failed to connect to ${path}: ${errorMessage(error)}`, {
        cause: error,
      });
    }
    const wire = lineWire({ input: socket, output: socket }, events, maxMessageBytes);
    socket.once("close", () => events.closed());
    return {
      send: wire.send,
      get buffered() {
        return wire.buffered;
      },
      close: async () => {
        await wire.finish();
        socket.destroy();
      },
    };
  };
}
