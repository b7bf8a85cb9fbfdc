import type { Tables } from "../../src/store.ts";

/** Tables that read what they write next, and remember nothing. */
export const counters: Tables<
  { raise(args: { name: string }): number },
  { total(args: { name: string }): number }
> = { name: "counters", module: new URL("./counters.tables.ts", import.meta.url) };
