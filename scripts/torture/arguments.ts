import { parseArgs } from "node:util";
import { UsageError } from "../main.ts";
import type { TortureContext } from "./torture.ts";

/** What `npm run torture` was asked for. */
export interface TortureOptions {
  /** Undefined when a new one is to be drawn. */
  seed: number | undefined;
  scale: TortureContext["scale"];
  filters: string[];
}

/** Reads the command line; throws on an option it does not know and on a seed that is not a 32-bit number. */
export function tortureOptions(args: string[]): TortureOptions {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { seed: { type: "string" }, small: { type: "boolean", default: false } },
  });
  const seed = values.seed === undefined ? undefined : Number(values.seed);
  if (values.seed !== undefined && !(/^\d+$/.test(values.seed) && Number(values.seed) < 2 ** 32)) {
    throw new UsageError(`--seed takes a whole number from 0 to ${2 ** 32 - 1}, not ${values.seed}.`);
  }
  return { seed, scale: values.small ? "small" : "full", filters: positionals };
}

/** The command that repeats one run. */
export function replayCommand(name: string, seed: number, scale: TortureContext["scale"]): string {
  return `npm run torture -- --seed ${seed}${scale === "small" ? " --small" : ""} ${name}`;
}
