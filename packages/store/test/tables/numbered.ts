import type { Tables } from "../../src/store.ts";

/** Rows that refer to another table, under numbers that are never given twice, with a column of a reserved name. */
export const numbered: Tables<
  { add(user: string): number; removeLast(args: null): undefined },
  { all(args: null): { number: number; user: string }[] }
> = {
  name: "numbered",
  module: new URL("./numbered.tables.ts", import.meta.url),
};
