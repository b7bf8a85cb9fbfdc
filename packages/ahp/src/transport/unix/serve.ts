import { createServer } from "node:net";
import type { AhpServer } from "../../server/server.ts";
import { drain } from "../drain.ts";
import { InFlight } from "../in-flight.ts";
import { type Limits, settleLimits } from "../limits.ts";
import { type LineConnection, serveLines } from "../lines/serve-lines.ts";
import type { Served } from "../served.ts";
import { listenOnSocket } from "./listen.ts";

/** Where to listen, and how much a peer may ask. */
export interface UnixOptions {
  readonly path: string;
  readonly limits?: Partial<Limits>;
}

/** Serves a Unix socket that only this user can open. Takes the place of a socket nobody listens on any more. */
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
