import { parseArgs } from "node:util";

/** What `npm run bench` was asked for. */
export interface BenchOptions {
  scale: "quick" | "full";
  json: boolean;
  /** A missed bar fails the run. */
  strict: boolean;
  filters: string[];
}

/** Reads the command line; throws on an option it does not know. */
export function benchOptions(args: string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
    },
  });
  const { quick, json, strict } = values;
  return { scale: quick ? "quick" : "full", json, strict, filters: positionals };
}
