import { build, type PrettyOptions } from "pino-pretty";

/** Turns log entries into lines for people, in this process. */
export function prettyStream(destination: NonNullable<PrettyOptions["destination"]>, colours: boolean) {
  return build({
    destination,
    colorize: colours,
    sync: true,
    singleLine: true,
    // What a line says in words need not follow as JSON.
    ignore: "pid,hostname,transport,address,signal,version,home,ledger",
    translateTime: "SYS:HH:MM:ss",
  });
}
