import type { Budget } from "../declaration/grammar.ts";

/** What was used of a budget. */
export interface Spent {
  readonly calls: number;
  readonly tokens: number;
  readonly cost: number;
}

/** Which part of a budget is used up. */
export function overBudget({ calls, tokens, cost }: Budget, spent: Spent): string | undefined {
  if (calls !== undefined && spent.calls >= calls) return `${calls} calls`;
  if (tokens !== undefined && spent.tokens >= tokens) return `${tokens} tokens`;
  return cost !== undefined && spent.cost >= cost ? `budget of ${cost}` : undefined;
}

/** How many of the tokens of two budgets are left, in both of them; `undefined` where neither has a limit. */
export function tokensLeft(
  one: Budget,
  usedOfOne: number,
  two: Budget = {},
  usedOfTwo = 0,
): number | undefined {
  const rest = ({ tokens }: Budget, used: number) =>
    tokens === undefined ? undefined : Math.max(0, tokens - used);
  return lower(rest(one, usedOfOne), rest(two, usedOfTwo));
}

/** The lower limit of each kind. */
export function stricterBudget(one: Budget, two: Budget): Budget {
  return {
    tokens: lower(one.tokens, two.tokens),
    cost: lower(one.cost, two.cost),
    seconds: lower(one.seconds, two.seconds),
    calls: lower(one.calls, two.calls),
    retries: lower(one.retries, two.retries),
    parallel: lower(one.parallel, two.parallel),
  };
}

function lower(one: number | undefined, two: number | undefined): number | undefined {
  return one === undefined || two === undefined ? (one ?? two) : Math.min(one, two);
}
