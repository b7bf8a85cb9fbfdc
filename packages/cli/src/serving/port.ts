import { CliError } from "../errors/cli-error.ts";

/** The port that agents expect a harness on. */
export const DEFAULT_PORT = 18789;

const HIGHEST_PORT = 65_535;

/** A port as it was written in a flag or a variable; `source` says in which. */
export function readPort(text: string, source: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= HIGHEST_PORT) return port;
  throw new CliError(`${source} is "${text}", which is no port.`, {
    next: `Give a whole number from 0 to ${HIGHEST_PORT}; 0 takes any free port.`,
  });
}
