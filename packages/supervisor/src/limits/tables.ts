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

/** What uses of one limit and holder may come to, and from when on they count. */
export interface Bound extends Partial<Usage> {
  readonly since: number;
}

/** A use that is kept only if it stays within a bound together with those of other processes. */
export interface BoundedUse {
  readonly use: Use;
  readonly bound: Bound;
}

/** What limits keep in the store. */
export type LimitChanges = {
  /** Keeps new uses, all or, where one passes its bound, none: the commit is refused as `exhausted`. */
  admit(args: { uses: readonly BoundedUse[] }): undefined;
  /** Keeps uses, in place of what was kept of them before. */
  keep(args: { uses: readonly Use[] }): undefined;
  /** Forgets the oldest uses of a tenant that count no more, some at a time. */
  forget(args: { tenant: string; before: number }): undefined;
};

/** What limits read from it. */
export type LimitQueries = {
  since(args: { at: number }): Use[];
  /** The uses of one limit and holder. */
  of(args: { limit: string; holder: string; since: number }): Use[];
};

/** The sum of two usages. */
export function plus(left: Usage, right: Usage): Usage {
  return {
    calls: left.calls + right.calls,
    tokens: left.tokens + right.tokens,
    cost: left.cost + right.cost,
    time_ms: left.time_ms + right.time_ms,
  };
}

/** What a use is counted as before it is known what it took: something has to be left of what it may use. */
export function leastOf({ tokens }: Pick<Usage, "tokens">): Usage {
  return { calls: 1, tokens: Math.min(tokens, 1), cost: 0, time_ms: 0 };
}

/** The uses that count against limits, across restarts. */
export const limitTables: Tables<LimitChanges, LimitQueries> = {
  name: "limits",
  module: new URL("./module.ts", import.meta.url),
};
