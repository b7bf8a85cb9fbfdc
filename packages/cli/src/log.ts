import type { Redactor } from "@reins/supervisor";
import { type Logger, type LoggerOptions, pino } from "pino";
import type { PrettyOptions } from "pino-pretty";
import { CliError } from "./errors.ts";

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

type LogLevel = (typeof LEVELS)[number];

/** `--verbose` overrides `REINS_LOG`. */
export function logLevel(verbose: boolean | undefined, environment: NodeJS.ProcessEnv): LogLevel {
  if (verbose) return "debug";
  const named = environment.REINS_LOG;
  if (!named) return "info";
  const level = LEVELS.find((each) => each === named.toLowerCase());
  if (level) return level;
  throw new CliError(`REINS_LOG is "${named}", which is not a log level.`, {
    next: `Use one of: ${LEVELS.join(", ")}.`,
  });
}

export type Log = Logger;

type LogStream = NodeJS.WriteStream & { readonly fd: number };

/** More is dropped, so that a slow reader does not stall the server. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

/** Set once a home is open; before, logs contain nothing of an agent. */
const redactors = new WeakMap<Log, Pick<Redactor, "text">>();

/** Redacts every line of a log from now on. */
export function redactLog(log: Log, redactor: Pick<Redactor, "text">): void {
  redactors.set(log, redactor);
}

/** Human lines on a terminal, one JSON document per line otherwise. */
export async function openLog(stream: LogStream, level: LogLevel): Promise<Log> {
  const log = await createLog(stream, level, (line) => redactors.get(log)?.text(line) ?? line);
  return log;
}

async function createLog(
  stream: LogStream,
  level: LogLevel,
  streamWrite: (line: string) => string,
): Promise<Log> {
  const hooks = { streamWrite };
  if (stream.isTTY) {
    return pino({ level, hooks }, await prettyStream(stream.fd, stream.hasColors()));
  }
  const options: LoggerOptions = {
    level,
    hooks,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  return pino(options, pino.destination({ dest: stream.fd, sync: false, maxLength: MAX_BUFFERED_BYTES }));
}

/** Formats log entries as lines for people. Loads the formatter on first use. */
export async function prettyStream(destination: NonNullable<PrettyOptions["destination"]>, colours: boolean) {
  const { build } = await import("pino-pretty");
  return build({
    destination,
    colorize: colours,
    sync: true,
    singleLine: true,
    // The message says these in words.
    ignore: "pid,hostname,transport,address,signal,version,home,ledger",
    translateTime: "SYS:HH:MM:ss",
  });
}
