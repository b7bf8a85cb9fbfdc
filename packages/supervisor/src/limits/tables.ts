import type { Tables } from "@reins/store";
import type { Use } from "./usage.ts";

/** What limits keep in the store. */
export type LimitChanges = {
  /** Keeps uses, in place of what was kept of them before. */
  keep(args: { uses: readonly Use[] }): undefined;
  /** Forgets the oldest uses of a tenant that count no more, some at a time. */
  forget(args: { tenant: string; before: number }): undefined;
};

/** What limits read from it. */
export type LimitQueries = {
  since(args: { at: number }): Use[];
};

/** The uses that count against limits, across restarts. */
export const limitTables: Tables<LimitChanges, LimitQueries> = {
  name: "limits",
  module: new URL("./module.ts", import.meta.url),
};
