import type { Tables } from "../../src/store.ts";

type GrowingQueries = {
  /** The migrations that were run, in order. */
  steps(args: null): number[];
};

/** Tables of a program that has grown: version 1 has one migration, version 2 two; the third cannot be run. */
export function growing(version: number): Tables<Record<never, never>, GrowingQueries> {
  const module = new URL("./growing.tables.ts", import.meta.url);
  module.searchParams.set("version", `${version}`);
  return { name: "growing", module };
}
