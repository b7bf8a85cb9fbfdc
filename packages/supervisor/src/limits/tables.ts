import type { Limit } from "@reins/policy";
import type { Tables } from "@reins/store";

/** What an action used. */
export interface Usage {
  readonly calls: number;
  readonly tokens: number;
  readonly cost: number;
  readonly time_ms: number;
}

export const NO_USAGE: Usage = { calls: 0, tokens: 0, cost: 0, time_ms: 0 };

/** One use that counts against a limit until it is too long ago. */
export interface Use extends Usage {
  /** Unlike any other. */
  readonly id: string;
  readonly limit: string;
  /** Whose use it is: tenant and name of the user, agent, session or tenant. */
  readonly holder: string;
  readonly at: number;
}

/** The sum of two usages. */
export function plus(left: Usage, right: Usage): Usage {
  return {
    calls: left.calls + right.calls,
    tokens: left.tokens + right.tokens,
    cost: left.cost + right.cost,
    time_ms: left.time_ms + right.time_ms,
  };
}

/** Which bound of a limit a usage passes, if any. */
export function exceeded(usage: Usage, limit: Limit, time_ms: number | undefined): string | undefined {
  if (limit.calls !== undefined && usage.calls > limit.calls) return `${limit.calls} calls`;
  if (limit.tokens !== undefined && usage.tokens > limit.tokens) return `${limit.tokens} tokens`;
  if (limit.cost !== undefined && usage.cost > limit.cost) return `a cost of ${limit.cost}`;
  if (time_ms !== undefined && usage.time_ms > time_ms) return `${limit.time} of time`;
  return undefined;
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
