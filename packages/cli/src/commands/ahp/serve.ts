import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { AhpServer, serveStdio } from "@reins/ahp";
import type { Command } from "commander";
import { CliError, EXIT, helpText } from "../../errors.ts";
import { repeated } from "../../flags.ts";
import { homeFolder } from "../../home.ts";
import { type Log, logLevel, openLog } from "../../log.ts";
import { isLoopback } from "../../serving/address.ts";
import { listeningAt, type Start, serveUntilStopped, startAll } from "../../serving/listen.ts";
import { serveSocket } from "../../serving/socket.ts";
import { announce } from "../../serving/start-message.ts";
import { watchForStop } from "../../serving/stop.ts";
import { loadHandlers, loggedHandlers } from "./handlers.ts";
import {
  resolveServerOptions,
  resolveServeTargets,
  type ServeFlags,
  type ServeTargets,
  serveWeb,
} from "./serve-settings.ts";

const HELP = `
The handler module has a default export, or one named "handlers": an object with a function "event" and, optionally,
"notification", "query" and one for each specialised event; or a function that returns such an object.

  import type { Handlers } from "@reins/ahp";
  export default {
    event: ({ payload }) => ({ decision: "block", reason: "not today" }),
  } satisfies Handlers;

TypeScript modules run as they are on Node 22.18 or newer. With --stdio nothing but the protocol goes to stdout:
logs, and what the module prints, go to stderr.

Without --handlers, --stdio forwards to the running Reins (reins up): its constitution decides, and its ledger records
the decisions.

Examples:
  reins ahp serve --stdio
  reins ahp serve --stdio --handlers ./handlers.ts
  reins ahp serve --http --ws --port 8080 --handlers ./handlers.ts
  reins ahp serve --ws --host 0.0.0.0 --token @tokens --tls-cert cert.pem --tls-key key.pem --handlers ./handlers.ts
  reins ahp serve --unix ./ahp.sock --handlers ./handlers.ts --require-handshake`;

export function declareServe(ahp: Command): void {
  ahp
    .command("serve")
    .summary("serve a custom harness")
    .description(
      "Serves a harness whose decisions come from a handler module, until Ctrl-C or the end of stdin.\n" +
        "--http, --ws and --unix may be given together; --http and --ws then share a port.",
    )
    .option("--handlers <file>", "the module that decides; with --stdio, by default the running Reins")
    .option("--home <folder>", "the home of the Reins that decides, with --stdio and without --handlers")
    .option("--stdio", "serve the process that started this one")
    .option("--http", "serve HTTP")
    .option("--ws", "serve WebSocket")
    .option("--unix <path>", "serve a Unix socket")
    .option("--host <host>", "address for HTTP and WebSocket (default: 127.0.0.1)")
    .option("--port <port>", "port for HTTP and WebSocket, 0 for any free one (default: 18789)")
    .option("--path <path>", "path for HTTP and WebSocket (default: /ahp)")
    .option(
      "--token <secret>",
      "secret that HTTP and WebSocket clients must send; @file reads one per line; may be repeated",
      repeated,
    )
    .option("--allow-host <name>", "name this machine is addressed by; may be repeated", repeated)
    .option("--tls-cert <file>", "certificate in PEM; serves https and wss")
    .option("--tls-key <file>", "its private key in PEM")
    .option("--name <name>", "name in the handshake")
    .option("--compat", "behave exactly as the upstream implementation")
    .option("--require-handshake", "answer only after a handshake")
    .option("--deadline-ms <ms>", "timeout of a handler, after which the event is blocked (default: 10000)")
    .option("--max-depth <depth>", "maximum depth of events (default: 10)")
    .option("--batch-size <events>", "maximum size of batches (default: 100)")
    .addHelpText(
      "after",
      helpText(HELP, {
        done: "stopped, or stdin ended",
        failed: "failed",
        usage: "wrong usage, or the handler module cannot be used",
        taken: "the port or the socket is in use",
      }),
    )
    .action((_, command: Command) => serve(command.optsWithGlobals<ServeFlags>()));
}

const LINGER_MS = 100;

async function serve(flags: ServeFlags): Promise<void> {
  const targets = resolveServeTargets(flags, process.env);
  const file = flags.handlers;
  if (file === undefined) return serveReins(flags, targets);
  const options = resolveServerOptions(flags);
  const log = await openLog(
    targets.stdio ? process.stderr : process.stdout,
    logLevel(flags.verbose, process.env),
  );
  const output = targets.stdio ? claimStdout() : process.stdout;
  const { handlers, unknown } = await loadHandlers(file);
  const server = new AhpServer(loggedHandlers(handlers, log), {
    ...options,
    onDropped: (reason, text) => log.warn({ reason, length: text.length }, "dropped a message"),
  });
  const stop = watchForStop();
  const opened = await startAll(starts(server, targets, output));
  announce(opened, log);
  warn(targets, unknown, log);
  await serveUntilStopped(opened, stop, log);
  // Exits although a handler module left a timer or a socket open.
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/** Forwards stdio to the Reins that runs, whose constitution decides. */
async function serveReins(flags: ServeFlags, { stdio }: ServeTargets): Promise<void> {
  if (!stdio)
    throw new CliError("No handler module is given.", {
      next: "Give --handlers <file>; reins up serves HTTP, WebSocket and a Unix socket with its constitution.",
    });
  const output = claimStdout();
  await forwardStdio(homeFolder(flags.home, process.env), { input: process.stdin, output });
  process.exit();
}

function starts(server: AhpServer, { stdio, web, unix }: ServeTargets, output: NodeJS.WriteStream): Start[] {
  const list: Start[] = [];
  if (stdio) list.push(async () => listeningAt(serveStdio(server, { output }), "stdio"));
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

function warn({ web }: ServeTargets, unknown: readonly string[], log: Log): void {
  if (web && !web.tls && !isLoopback(web.host)) {
    log.warn("tokens and events are sent unencrypted: give --tls-cert and --tls-key");
  }
  if (unknown.length > 0)
    log.warn({ unknown }, "the handler module has functions that no event calls; misspelled?");
}

/**
 * Reserves stdout for the protocol: afterwards `console.log` and `process.stdout` write to stderr, so that a handler
 * module that prints does no harm.
 */
function claimStdout(): NodeJS.WriteStream {
  const { stdout, stderr } = process;
  Object.defineProperty(process, "stdout", { value: stderr, configurable: true, enumerable: true });
  return stdout;
}

/**
 * Forwards lines between stdio and the socket of a home; both carry one message per line. Ends with stdin once
 * everything is answered, and with the server.
 */
async function forwardStdio(
  home: string,
  { input, output }: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream },
): Promise<void> {
  const socket = connect({ path: join(home, "ahp.sock"), allowHalfOpen: true });
  try {
    await once(socket, "connect");
  } catch (error) {
    throw new CliError(`No Reins runs on ${home}, and nothing is decided without one.`, {
      next: "Start it with reins up, name its home with --home, or give --handlers for a custom harness.",
      exitCode: EXIT.unreachable,
      cause: error,
    });
  }
  let hasEnded = false;
  const asked = pipeline(input, socket).then(() => {
    hasEnded = true;
  });
  const answered = pipeline(socket, output, { end: false });
  await Promise.race([answered, asked.then(() => answered)]);
  if (!hasEnded)
    throw new CliError("Reins went away; unanswered events are not allowed.", {
      next: "Start it again with reins up.",
      exitCode: EXIT.unreachable,
    });
}
