import type { Tables } from "@reins/store";

/** What an action used. */
export interface Usage {
  readonly calls: number;
  readonly tokens: number;
  readonly cost: number;
  readonly time_ms: number;
}

/** One use that counts against a limit until it is too long ago. */
export interface Use extends Usage {
  /** Unlike any other. */
  readonly id: string;
  readonly limit: string;
  /** Whose use it is: tenant and name of the user, agent, session or tenant. */
  readonly holder: string;
  readonly at: number;
}

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
