import type { Budget } from "../declaration/grammar.ts";

/** What was used of a budget. */
interface Spent {
  readonly calls: number;
  readonly tokens: number;
  readonly cost: number;
}

/** The most that an attempt may use: no limit of a kind that is absent. */
export type BudgetShare = Readonly<Partial<Record<SharedKind, number>>>;

/** What is used up as it goes, so that attempts that run together have to share it. */
type SharedKind = "tokens" | "cost";
const SHARED = ["tokens", "cost"] as const;
/** What is left of money is nothing where it is less than this part of it: numbers are not exact. */
const NOTHING = 1e-9;

/**
 * What a run has used of its budget, and what the attempts under way hold of the tokens and the money that are left: each
 * takes a share, so that together they keep to the budget, and holds it until its use is counted.
 */
export class RunSpending {
  /** The most attempts, whatever the declared budget is. */
  readonly #ceiling: number | undefined;
  #budget: Budget;
  readonly #used = { calls: 0, retries: 0, tokens: 0, cost: 0 };
  readonly #held = new Map<string, BudgetShare>();
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
   * Takes a share of what is left for an attempt at an action; the same for the same attempt. Waits while other attempts
   * hold all there is of something, if it may. `takers` counts the attempts under way that may yet take one, this one among
   * them; `ofAction` is what is left to the action itself.
   */
  async take(
    action: string,
    {
      takers,
      ofAction,
      signal,
      waits = true,
    }: { takers: () => number; ofAction: BudgetShare; signal: AbortSignal; waits?: boolean },
  ): Promise<BudgetShare> {
    const known = this.#held.get(action);
    if (known !== undefined) return known;
    const wake = () => this.#wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const left = leftOf(this.#budget, this.#used);
        if (left.tokens === undefined && left.cost === undefined) return ofAction;
        const share = this.#shareOf(left, Math.max(1, takers()));
        const isThere = SHARED.every((kind) => share[kind] !== 0);
        if (isThere || this.#held.size === 0 || !waits) {
          const taken = lowerShare(share, ofAction);
          this.#held.set(action, taken);
          return taken;
        }
        await this.#released.promise;
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  /** What one of so many may take of what is left and that no attempt holds. */
  #shareOf(left: BudgetShare, takers: number): BudgetShare {
    const ofKind = (kind: SharedKind): number | undefined => {
      const all = left[kind];
      if (all === undefined) return undefined;
      const held = [...this.#held.values()].reduce((sum, one) => sum + (one[kind] ?? 0), 0);
      const free = all - held > all * NOTHING ? all - held : 0;
      return kind === "tokens" ? Math.ceil(free / takers) : free / takers;
    };
    return { ...shareIn("tokens", ofKind), ...shareIn("cost", ofKind) };
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

/** What of a budget is left after what was used of it. */
export function leftOf(budget: Budget, used: Omit<Spent, "calls">): BudgetShare {
  const ofKind = (kind: SharedKind) => {
    const most = budget[kind];
    return most === undefined ? undefined : Math.max(0, most - used[kind]);
  };
  return { ...shareIn("tokens", ofKind), ...shareIn("cost", ofKind) };
}

function lowerShare(one: BudgetShare, two: BudgetShare): BudgetShare {
  const ofKind = (kind: SharedKind) => lower(one[kind], two[kind]);
  return { ...shareIn("tokens", ofKind), ...shareIn("cost", ofKind) };
}

function shareIn(kind: SharedKind, ofKind: (kind: SharedKind) => number | undefined): BudgetShare {
  const share = ofKind(kind);
  return share === undefined ? {} : { [kind]: share };
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
