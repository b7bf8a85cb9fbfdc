import { CliError } from "../errors/cli-error.ts";

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** How much is logged. */
export type LogLevel = (typeof LEVELS)[number];

/** The level that flags and environment ask for; `--verbose` wins over `REINS_LOG`. */
export function logLevel(verbose: boolean | undefined, environment: NodeJS.ProcessEnv): LogLevel {
  if (verbose) return "debug";
  const named = environment.REINS_LOG;
  if (!named) return "info";
  const level = LEVELS.find((each) => each === named.toLowerCase());
  if (level) return level;
  throw new CliError(`REINS_LOG is "${named}", which is no log level.`, {
    next: `Use one of: ${LEVELS.join(", ")}.`,
  });
}
