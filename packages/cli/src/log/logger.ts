import { type Logger, type LoggerOptions, pino } from "pino";
import type { LogLevel } from "./level.ts";

/** Takes what a command has to say while it runs. */
export type Log = Logger;

/** The stream a log goes to. */
export type LogStream = NodeJS.WriteStream & { readonly fd: number };

/** More log than this waits for a slow reader; then lines are dropped rather than the server stalled. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024;

/** Opens a log: human lines on a terminal, one JSON document per line otherwise. */
export async function openLog(stream: LogStream, level: LogLevel): Promise<Log> {
  if (stream.isTTY) {
    const { prettyStream } = await import("./pretty.ts");
    return pino({ level }, prettyStream(stream.fd, stream.hasColors()));
  }
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  return pino(options, pino.destination({ dest: stream.fd, sync: false, maxLength: MOST_WAITING_BYTES }));
}
