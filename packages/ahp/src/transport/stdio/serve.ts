import type { Readable, Writable } from "node:stream";
import type { AhpServer } from "../../server/server.ts";
import { InFlight } from "../in-flight.ts";
import { type Limits, settleLimits } from "../limits.ts";
import { serveLines } from "../lines/serve-lines.ts";
import type { Served } from "../served.ts";

/** The streams to serve, and how much a peer may ask. */
export interface StdioOptions {
  readonly input?: Readable;
  readonly output?: Writable;
  readonly limits?: Partial<Limits>;
}

/** Serves the process that started this one: a JSON document per line, logs belong on stderr. */
export function serveStdio(server: AhpServer, options: StdioOptions = {}): Served {
  const { input = process.stdin, output = process.stdout } = options;
  const limits = settleLimits(options.limits);
  const bounds = { limits, inFlight: new InFlight(limits) };
  const connection = serveLines(server, { transport: "stdio" }, bounds, {
    input,
    output,
    keepOutput: true,
  });
  return {
    address: "stdio",
    closed: connection.closed,
    close: async () => {
      input.pause();
      await connection.end();
    },
  };
}
