import type { Tables } from "../src/index.ts";
import type { Row } from "./row.ts";

type RowChanges = { insert(row: Row): number };
type RowQueries = { count(args: null): unknown };

/** The measured rows as tables of a store. */
export const rows: Tables<RowChanges, RowQueries> = {
  name: "rows",
  module: new URL("./rows.tables.ts", import.meta.url),
};
