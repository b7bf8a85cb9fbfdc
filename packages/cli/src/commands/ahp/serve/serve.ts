import { AhpServer, serveStdio } from "@reins/ahp";
import { CliError } from "../../../errors.ts";
import { homeFolder } from "../../../home.ts";
import { type Log, logLevel, openLog } from "../../../log.ts";
import { isLoopback } from "../../../serving/address.ts";
import { announce } from "../../../serving/greeting.ts";
import { openedAt, type Start, serveUntilStopped, startAll } from "../../../serving/listen.ts";
import { serveSocket } from "../../../serving/socket.ts";
import { watchForStop } from "../../../serving/stop.ts";
import { serveWeb } from "../../../serving/web.ts";
import { bridgeStdio } from "./bridge.ts";
import type { ServeFlags } from "./flags.ts";
import { loadHandlers } from "./module.ts";
import { observed } from "./observed.ts";
import { settleServer } from "./options.ts";
import { type Places, settlePlaces } from "./places.ts";
import { claimStdout } from "./stdout.ts";

const LINGER_MS = 100;

/** Serves the harness of a handler module until asked to stop, or until stdin ends. */
export async function serve(flags: ServeFlags): Promise<void> {
  const places = settlePlaces(flags, process.env);
  const file = flags.handlers;
  if (file === undefined) return serveReins(flags, places);
  const options = settleServer(flags);
  const log = await openLog(
    places.stdio ? process.stderr : process.stdout,
    logLevel(flags.verbose, process.env),
  );
  const output = places.stdio ? claimStdout() : process.stdout;
  const { handlers, unknown } = await loadHandlers(file);
  const server = new AhpServer(observed(handlers, log), {
    ...options,
    onDropped: (reason, text) => log.warn({ reason, length: text.length }, "dropped a message"),
  });
  const stop = watchForStop();
  const opened = await startAll(starts(server, places, output));
  announce(opened, log);
  warn(places, unknown, log);
  await serveUntilStopped(opened, stop, log);
  // What the handler module left open, a timer or a socket, does not keep a server alive that has stopped.
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/** Without a handler module the constitution decides: that of the Reins that runs, over stdio. */
async function serveReins(flags: ServeFlags, { stdio }: Places): Promise<void> {
  if (!stdio)
    throw new CliError("Nothing says what decides.", {
      next: "Give --handlers <file>; reins up serves HTTP, WebSocket and a Unix socket by its constitution.",
    });
  const output = claimStdout();
  await bridgeStdio(homeFolder(flags.home, process.env), { input: process.stdin, output });
  process.exit();
}

function starts(server: AhpServer, { stdio, web, unix }: Places, output: NodeJS.WriteStream): Start[] {
  const list: Start[] = [];
  if (stdio) list.push(async () => openedAt(serveStdio(server, { output }), "stdio"));
  if (unix !== undefined) list.push(() => serveSocket(server, unix, taken(unix)));
  if (web) list.push(() => serveWeb(server, web));
  return list;
}

function taken(path: string) {
  return {
    message: `Another server listens on ${path}.`,
    next: "Stop it, or choose another path for --unix.",
  };
}

function warn({ web }: Places, unknown: readonly string[], log: Log): void {
  if (web && !web.tls && !isLoopback(web.host)) {
    log.warn("tokens and events travel unencrypted: give --tls-cert and --tls-key");
  }
  if (unknown.length > 0)
    log.warn({ unknown }, "the handler module has functions that no event calls; misspelled?");
}
