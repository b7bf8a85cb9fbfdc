import type { Budget } from "../declaration/grammar.ts";

/** What was used of a budget. */
interface Spent {
  readonly calls: number;
  readonly tokens: number;
  readonly cost: number;
}

/**
 * What a run has used of its budget, and what the attempts under way hold of the tokens that are left: each takes a share,
 * so that together they keep to the budget, and holds it until its use is counted.
 */
export class RunSpending {
  /** The most attempts, whatever the declared budget is. */
  readonly #ceiling: number | undefined;
  #budget: Budget;
  readonly #used = { calls: 0, retries: 0, tokens: 0, cost: 0 };
  readonly #held = new Map<string, number>();
  #released = Promise.withResolvers<void>();

  constructor(budget: Budget, ceiling: number | undefined) {
    this.#ceiling = ceiling;
    this.#budget = budget;
  }

  /** Replaces the budget; what was used stays used. */
  revise(budget: Budget): void {
    this.#budget = budget;
  }

  /** Which part of the budget is used up. */
  get over(): string | undefined {
    return overBudget({ ...this.#budget, calls: lower(this.#budget.calls, this.#ceiling) }, this.#used);
  }

  get mayRetry(): boolean {
    return this.#used.retries < (this.#budget.retries ?? Number.POSITIVE_INFINITY);
  }

  countCall(): void {
    this.#used.calls += 1;
  }

  countRetry(): void {
    this.#used.retries += 1;
  }

  /** Counts what an attempt at an action used, and takes back what it held. */
  spend(action: string, { tokens, cost }: Omit<Spent, "calls">): void {
    this.#used.tokens += tokens;
    this.#used.cost += cost;
    if (this.#held.delete(action)) this.#wake();
  }

  /** Whether an attempt at an action has taken its share. */
  holds(action: string): boolean {
    return this.#held.has(action);
  }

  /**
   * Takes a share of the tokens that are left for an attempt at an action: the most that it may use, and `undefined` for
   * no limit; the same for the same attempt. Waits while other attempts hold all there is, if it may. `takers` counts the attempts under way that may yet take one,
   * this one among them; `ofAction` is what is left to the action itself.
   */
  async take(
    action: string,
    {
      takers,
      ofAction,
      signal,
      waits = true,
    }: { takers: () => number; ofAction: number | undefined; signal: AbortSignal; waits?: boolean },
  ): Promise<number | undefined> {
    const known = this.#held.get(action);
    if (known !== undefined) return known;
    const wake = () => this.#wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const left = tokensLeft(this.#budget, this.#used.tokens);
        if (left === undefined) return ofAction;
        const held = [...this.#held.values()].reduce((sum, one) => sum + one, 0);
        const share = Math.ceil(Math.max(0, left - held) / Math.max(1, takers()));
        if (share > 0 || this.#held.size === 0 || !waits) {
          const taken = Math.min(share, ofAction ?? share);
          this.#held.set(action, taken);
          return taken;
        }
        await this.#released.promise;
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  #wake(): void {
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }
}

/** Which part of a budget is used up. */
export function overBudget({ calls, tokens, cost }: Budget, spent: Spent): string | undefined {
  if (calls !== undefined && spent.calls >= calls) return `${calls} calls`;
  if (tokens !== undefined && spent.tokens >= tokens) return `${tokens} tokens`;
  return cost !== undefined && spent.cost >= cost ? `budget of ${cost}` : undefined;
}

/** How many tokens of a budget are left; `undefined` where it has no limit. */
export function tokensLeft({ tokens }: Budget, used: number): number | undefined {
  return tokens === undefined ? undefined : Math.max(0, tokens - used);
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
