import { once } from "node:events";
import { access } from "node:fs/promises";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import { AhpServer, type Handlers, serveStdio } from "@reins/ahp";
import { errorMessage, isLoopback } from "@reins/kit";
import { command } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { type Log, logLevel, openLog } from "../../log.ts";
import { listeningAt, type Start, serveSocket, serveUntilStopped, startAll } from "../../serving/listen.ts";
import { announce } from "../../serving/start-message.ts";
import { watchForStop } from "../../serving/stop.ts";
import {
  resolveServerOptions,
  resolveServeTargets,
  SERVE_INPUTS,
  type ServeTargets,
  serveWeb,
} from "./serve-settings.ts";

const NEXT = "See the example in: reins ahp serve --help";

interface LoadedHandlers {
  readonly handlers: Handlers;
  readonly unknown: readonly string[];
}

/** Loads a handler module: its default export or its `handlers`, an object or a function that returns one. */
export async function loadHandlers(file: string): Promise<LoadedHandlers> {
  const path = resolve(file);
  const exported = await exportOf(path);
  const handlers: unknown =
    typeof exported === "function"
      ? await made(() => Reflect.apply(exported, undefined, []), path)
      : exported;
  if (!isHandlers(handlers)) {
    throw new CliError(`The handlers of ${path} cannot be used: ${handlersProblem(handlers)}.`, {
      next: NEXT,
    });
  }
  return { handlers, unknown: unknownHandlers(handlers) };
}

async function exportOf(path: string): Promise<unknown> {
  const module = await load(path);
  const exported: unknown = module.default ?? module.handlers;
  if (exported !== undefined && exported !== null) return exported;
  throw new CliError(`${path} has neither a default export nor one named "handlers".`, { next: NEXT });
}

async function load(path: string): Promise<Record<string, unknown>> {
  try {
    await access(path);
  } catch (error) {
    throw new CliError(`There is no handler module ${path}.`, {
      next: "Check the path after --handlers; it is relative to the current folder.",
      cause: error,
    });
  }
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw new CliError(`The handler module ${path} cannot be loaded: ${errorMessage(error)}`, {
      next: "Correct the module; --verbose shows where. TypeScript must be erasable: no enum, no namespace, no parameter property.",
      cause: error,
    });
  }
}

async function made(make: () => unknown, path: string): Promise<unknown> {
  try {
    return await make();
  } catch (error) {
    throw new CliError(`The function that ${path} exports failed: ${errorMessage(error)}`, {
      next: "Correct the module; --verbose shows where.",
      cause: error,
    });
  }
}

/** The type makes the list complete. */
const NAMES: Readonly<Record<keyof Handlers, true>> = {
  event: true,
  notification: true,
  query: true,
  idle: true,
  context_perception: true,
  memory_recall: true,
  planning: true,
  reasoning: true,
  rate_limit: true,
  confirmation: true,
  intent_detection: true,
};

function isHandlers(value: unknown): value is Handlers {
  return handlersProblem(value) === undefined;
}

function handlersProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return "they are not an object";
  if (member(value, "event") === undefined) return 'they have no function "event"';
  const wrong = Object.keys(NAMES).find(
    (name) => !["undefined", "function"].includes(typeof member(value, name)),
  );
  return wrong === undefined ? undefined : `"${wrong}" is not a function`;
}

/** Functions that are not handlers: most often a misspelled name. */
function unknownHandlers(handlers: object): string[] {
  const names = Object.keys(handlers).filter((name) => typeof member(handlers, name) === "function");
  return names.filter((name) => !Object.hasOwn(NAMES, name));
}

function member(value: object, name: string): unknown {
  return Reflect.get(value, name);
}

/** Wraps handlers to log their decisions and errors. */
export function loggedHandlers(handlers: Handlers, log: Log): Handlers {
  return new Proxy(handlers, {
    get(target, name) {
      const handler: unknown = Reflect.get(target, name);
      if (typeof handler !== "function") return handler;
      return async (...args: unknown[]) => {
        const call = { handler: String(name) };
        try {
          const result: unknown = await Reflect.apply(handler, target, args);
          log.debug({ ...call, decision: decisionIn(result) }, "answered");
          return result;
        } catch (error) {
          const stack = log.isLevelEnabled("debug") ? { stack: stackOf(error) } : {};
          log.error({ ...call, error: errorMessage(error), ...stack }, "a handler failed");
          throw error;
        }
      };
    },
  });
}

function decisionIn(result: unknown): unknown {
  return typeof result === "object" && result !== null && "decision" in result ? result.decision : undefined;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

export const serveCommand = command({
  summary: "serve a custom harness",
  description:
    "Serves a harness whose decisions come from a handler module, until Ctrl-C or the end of stdin.\n" +
    "--http, --ws and --unix may be given together; --http and --ws then share a port.",
  inputs: SERVE_INPUTS,
  note: `The handler module has a default export, or one named "handlers": an object with a function "event" and, optionally,
"notification", "query" and one for each specialised event; or a function that returns such an object.

  import type { Handlers } from "@reins/ahp";
  export default {
    event: ({ payload }) => ({ decision: "block", reason: "not today" }),
  } satisfies Handlers;

TypeScript modules run as they are on Node 22.18 or newer. With --stdio nothing but the protocol goes to stdout:
logs, and what the module prints, go to stderr.

Without --handlers, --stdio forwards to the running Reins (reins up): its constitution decides, and its ledger records
the decisions.`,
  examples: [
    "reins ahp serve --stdio",
    "reins ahp serve --stdio --handlers ./handlers.ts",
    "reins ahp serve --http --ws --port 8080 --handlers ./handlers.ts",
    "reins ahp serve --ws --host 0.0.0.0 --token @tokens --tls-cert cert.pem --tls-key key.pem --handlers ./handlers.ts",
    "reins ahp serve --unix ./ahp.sock --handlers ./handlers.ts --require-handshake",
  ],
  codes: {
    done: "stopped, or stdin ended",
    failed: "failed",
    usage: "wrong usage, or the handler module cannot be used",
    taken: "the port or the socket is in use",
  },
  async run({ handlers: file, ...flags }, { verbose }) {
    const targets = resolveServeTargets(flags, process.env);
    if (file === undefined) return serveReins(flags.home, targets);
    const options = resolveServerOptions(flags);
    const log = await openLog(
      targets.stdio ? process.stderr : process.stdout,
      logLevel(verbose, process.env),
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
  },
});

const LINGER_MS = 100;

/** Forwards stdio to the Reins that runs, whose constitution decides. */
async function serveReins(home: string, { stdio }: ServeTargets): Promise<void> {
  if (!stdio)
    throw new CliError("No handler module is given.", {
      next: "Give --handlers <file>; reins up serves HTTP, WebSocket and a Unix socket with its constitution.",
    });
  const output = claimStdout();
  await forwardStdio(home, { input: process.stdin, output });
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
