// The harness under torture: `node --expose-gc program.ts '{"unix":"/path"}'`. An uncaught error ends it.
import { readdirSync } from "node:fs";
import { AhpServer, knownTokens, serveHttp, serveStdio, serveUnix } from "../../src/index.ts";
import { tortureHandlers } from "./handlers.ts";
import { Holds } from "./holds.ts";
import type { HarnessSettings, Order, Ready, Report } from "./settings.ts";

const settings: HarnessSettings = JSON.parse(process.argv[2] ?? "{}");
const { limits = {}, requireHandshake = false, deadlineMs } = settings;
const holds = new Holds();
const server = new AhpServer(tortureHandlers(holds), {
  requireHandshake,
  newToken: () => "token",
  ...(deadlineMs === undefined ? {} : { deadlineMs }),
});

process.on("message", (order: Order) => {
  if (order === "release") holds.release();
  else process.send?.(report());
});
process.once("disconnect", () => process.exit());
const ready = await serve();
process.send?.(ready);

async function serve(): Promise<Ready> {
  if (settings.stdio) {
    const { closed } = serveStdio(server, { limits });
    if (settings.unix === undefined && !settings.http) void closed.then(() => process.exit());
  }
  if (settings.unix !== undefined) await serveUnix(server, { path: settings.unix, limits });
  if (!settings.http) return { kind: "ready" };
  const { port = 0, token } = settings.http;
  const authenticate =
    token === undefined ? {} : { authenticate: knownTokens([{ principal: "p", secret: token }]) };
  const { address } = await serveHttp(server, { port, limits, ...authenticate });
  return { kind: "ready", http: address };
}

function report(): Report {
  // The second collection waits for the buffers that the first one let go of.
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  return { kind: "report", rss, live: heapUsed + arrayBuffers, descriptors: descriptors(), held: holds.size };
}

function descriptors(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return process.getActiveResourcesInfo().length;
  }
}
