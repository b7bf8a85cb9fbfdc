import { type DecisionInput, type Limit, milliseconds, type Policy, type Subject } from "@reins/policy";
import { type Change, change, type Store, StoreError } from "@reins/store";
import type { CurrentVerdict } from "../decision/decision.ts";
import { type Bound, leastOf, limitTables, plus, type Usage, type Use } from "./tables.ts";

/** What limits say to an action: what they reserved for it, or the verdict of the one that is used up. */
export type LimitOutcome =
  | { readonly passed: true; readonly uses: readonly Use[] }
  | { readonly passed: false; readonly verdict: CurrentVerdict };

/** What an action is expected to use at most. */
export interface Reservation extends Partial<Pick<Usage, "tokens" | "cost">> {
  /** Why its cost is not known: no limit on cost can hold for it then. */
  readonly unpriced?: string;
}

/** What is left of limits. */
type Room = Pick<Usage, "tokens" | "cost">;

interface Counted {
  readonly limit: Limit;
  /** What its uses are kept under: its name, and for a second limit of that name something else. */
  readonly key: string;
  readonly within: number;
  readonly time_ms: number | undefined;
  readonly applies: (input: DecisionInput) => boolean;
}

const NO_USAGE: Usage = { calls: 0, tokens: 0, cost: 0, time_ms: 0 };
/** After how many calls old uses are removed. */
const SWEEP_EVERY = 1_000;
/** How long a use counts against a limit without a time. */
const EVER_MS = Number.MAX_SAFE_INTEGER / 2;
/** Of uses without an end, so many are kept one by one; earlier ones are summed up. */
const TOLD_APART = 1_000;
/** How long uses are stored at least, so that a limit that is made longer finds them after a restart. */
const KEPT_MS = 31 * 86_400_000;

/**
 * Rate limits and budgets. A use is reserved before the action is allowed and settled when it is known what it took;
 * reserving is one step, so no number of callers at once gets past a limit. The whole delegation tree counts as one.
 */
export class Limits {
  readonly #counted: readonly Counted[];
  readonly #uses = new Map<string, Use[]>();
  readonly #newId: () => string;
  #untilSweep = 0;

  constructor(policy: Policy, newId: () => string) {
    this.#newId = newId;
    const names = policy.limits.map(({ limit }) => limit.name);
    this.#counted = policy.limits.map(({ limit, applies }, index) => ({
      limit,
      key: keyAmong(names, index),
      within: limit.within === undefined ? EVER_MS : milliseconds(limit.within),
      time_ms: limit.time === undefined ? undefined : milliseconds(limit.time),
      applies,
    }));
  }

  /** Adds uses that were stored before a restart. */
  restore(uses: readonly Use[]): void {
    for (const use of uses) this.#usesOf(use.limit, use.holder).push(use);
  }

  /** Adds what was counted under the policy before. */
  takeOver(before: Limits): void {
    for (const [key, counted] of before.#uses) this.#uses.set(key, counted);
  }

  /** The longest time for which a use counts. */
  get longestMs(): number {
    return Math.max(0, ...this.#counted.map(({ within }) => within));
  }

  /**
   * Reserves one call against every limit that applies, or none and says which one is used up. A person's yes to this
   * very action goes beyond those limits that ask for one. What it reserves of tokens and cost may go beyond a limit, of
   * which something has to be left: so no number of such actions at once goes further than one of them. What has an
   * unknown cost is not free: a limit on cost does not allow it.
   */
  reserve(
    input: DecisionInput,
    {
      approved = false,
      reserves,
    }: { readonly approved?: boolean; readonly reserves?: Reservation | undefined } = {},
  ): LimitOutcome {
    const applying = this.#counted.filter(({ applies }) => applies(input));
    const { unpriced, ...amounts } = reserves ?? {};
    const reserved: Use[] = [];
    for (const { limit, key, within, time_ms } of applying) {
      const holder = holderOf(input.subject, limit);
      const used = this.#used(key, holder, input.at - within);
      const passed = exceeded(plus(used, leastOf({ tokens: reserves?.tokens ?? 0 })), limit, time_ms);
      if (passed !== undefined && !(approved && limit.exceeded === "ask")) {
        const reason = `${described(limit, passed)} is used up`;
        const oldest = this.#uses.get(keyOf(key, holder))?.[0]?.at ?? input.at;
        return { passed: false, verdict: exceededVerdict(limit, reason, oldest + within - input.at) };
      }
      if (limit.cost !== undefined && unpriced !== undefined && !(approved && limit.exceeded === "ask")) {
        const reason = `${described(limit, `a cost of ${limit.cost}`)} cannot hold: ${unpriced}`;
        const verdict = limit.exceeded === "ask" ? "ask" : "blocked";
        return { passed: false, verdict: { verdict, reason, rule: limit.name } };
      }
      reserved.push({
        ...NO_USAGE,
        ...amounts,
        calls: 1,
        id: this.#newId(),
        limit: key,
        holder,
        at: input.at,
      });
    }
    for (const use of reserved) this.#usesOf(use.limit, use.holder).push(use);
    return { passed: true, uses: reserved };
  }

  /** How much of every limit that uses count against is left beside them. */
  roomFor(uses: readonly Use[], at: number): Room {
    const rooms = uses.map((use): Room => {
      const counted = this.#counted.find(({ key }) => key === use.limit);
      if (!counted) return UNLIMITED;
      const { tokens, cost } = this.#used(use.limit, use.holder, at - counted.within);
      const { tokens: most = UNLIMITED.tokens, cost: dearest = UNLIMITED.cost } = counted.limit;
      return { tokens: most - tokens + use.tokens, cost: dearest - cost + use.cost };
    });
    const least = (name: keyof Room) => Math.min(UNLIMITED[name], ...rooms.map((room) => room[name]));
    return { tokens: least("tokens"), cost: least("cost") };
  }

  /** Releases what was reserved for an action that was not allowed after all. */
  release(uses: readonly Use[]): void {
    for (const { id, limit, holder } of uses) this.#replace(limit, holder, id, undefined);
  }

  /** Notes what an action took once that is known; gives the uses as they count now. */
  settle(uses: readonly Use[], usage: Partial<Usage>): Use[] {
    return uses.map((use) => {
      const settled = { ...use, ...usage, calls: use.calls };
      this.#replace(use.limit, use.holder, use.id, settled);
      return settled;
    });
  }

  /** Counts what was used without a reservation, against every limit that applies, also beyond it. */
  charge(input: DecisionInput, usage: Partial<Usage>): Use[] {
    const uses = this.#counted
      .filter(({ applies }) => applies(input))
      .map(({ limit, key }): Use => {
        const holder = holderOf(input.subject, limit);
        return { ...NO_USAGE, ...usage, calls: 0, id: this.#newId(), limit: key, holder, at: input.at };
      });
    for (const use of uses) this.#usesOf(use.limit, use.holder).push(use);
    return uses;
  }

  /**
   * The changes of the store that keep uses of a tenant, and once in a while forget those that count no more. New ones
   * can be kept on the condition that they stay within their limits together with those of other processes.
   */
  changesFor(
    { subject: { tenant }, at }: Pick<DecisionInput, "subject" | "at">,
    uses: readonly Use[],
    condition?: { readonly isApproved: boolean },
  ): Change<undefined>[] {
    const kept = condition
      ? change(limitTables, "admit", {
          uses: uses.map((use) => ({ use, bound: this.#boundOf(use, at, condition) })),
        })
      : change(limitTables, "keep", { uses });
    const before = this.forgetOld(at);
    return before === undefined ? [kept] : [kept, change(limitTables, "forget", { tenant, before })];
  }

  #boundOf({ limit: key }: Use, at: number, { isApproved }: { readonly isApproved: boolean }): Bound {
    const counted = this.#counted.find((one) => one.key === key);
    if (!counted) return { since: at };
    const { limit, within, time_ms } = counted;
    const { calls, tokens, cost } = limit;
    const bounds = Object.entries({ calls, tokens, cost, time_ms }).filter(([, most]) => most !== undefined);
    const isBound = !(isApproved && limit.exceeded === "ask");
    return { since: at - within, ...(isBound && Object.fromEntries(bounds)) };
  }

  /**
   * After uses could not be kept because limits are used up: reads again what all processes used of them. Returns whether
   * that was the reason.
   */
  async reread(
    error: unknown,
    uses: readonly Use[],
    at: number,
    store: Pick<Store, "query">,
  ): Promise<boolean> {
    if (!(error instanceof StoreError && error.code === "exhausted")) return false;
    for (const { limit, holder } of uses) {
      const within = this.#counted.find(({ key }) => key === limit)?.within ?? 0;
      const kept = await store.query(limitTables, "of", { limit, holder, since: at - within });
      const known = new Set(kept.map(({ id }) => id));
      // Those that are on their way to the store count, too.
      const pending = (this.#uses.get(keyOf(limit, holder)) ?? []).filter(({ id }) => !known.has(id));
      const all = [...kept, ...pending].toSorted((left, right) => left.at - right.at);
      this.#uses.set(keyOf(limit, holder), all);
    }
    return true;
  }

  /** Removes uses that count no more, once in a while; returns the time from which on they have to be kept then. */
  forgetOld(at: number): number | undefined {
    this.#untilSweep -= 1;
    if (this.#untilSweep > 0) return undefined;
    this.#untilSweep = SWEEP_EVERY;
    const within = new Map(this.#counted.map((counted) => [counted.key, counted.within]));
    for (const [key, uses] of this.#uses) {
      const counts = uses.filter((use) => use.at > at - (within.get(use.limit) ?? KEPT_MS));
      if (counts.length === 0) this.#uses.delete(key);
      else this.#uses.set(key, within.get(counts[0]?.limit ?? "") === EVER_MS ? addedUp(counts) : counts);
    }
    return at - Math.max(this.longestMs, KEPT_MS);
  }

  /** How many uses are remembered. */
  get size(): number {
    return [...this.#uses.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** What a subject has used of each limit. */
  report(subject: Subject, at: number): { limit: Limit; used: Usage }[] {
    return this.#counted.map(({ limit, key, within }) => ({
      limit,
      used: this.#used(key, holderOf(subject, limit), at - within),
    }));
  }

  #used(limit: string, holder: string, since: number): Usage {
    const uses = this.#uses.get(keyOf(limit, holder)) ?? [];
    while (uses[0] && uses[0].at <= since) uses.shift();
    return uses.reduce(plus, NO_USAGE);
  }

  #usesOf(limit: string, holder: string): Use[] {
    const key = keyOf(limit, holder);
    const uses = this.#uses.get(key) ?? [];
    this.#uses.set(key, uses);
    return uses;
  }

  #replace(limit: string, holder: string, id: string, by: Use | undefined): void {
    const uses = this.#uses.get(keyOf(limit, holder)) ?? [];
    const index = uses.findIndex((use) => use.id === id);
    if (index >= 0) uses.splice(index, 1, ...(by ? [by] : []));
  }
}

const UNLIMITED: Room = { tokens: Number.MAX_SAFE_INTEGER, cost: Number.MAX_SAFE_INTEGER };

/** The shortest and the longest time after which what a limit defers is decided again. */
const RETRY_MS = { least: 1_000, most: 60_000 };

/** A limit as people read it. */
function described({ name, within, per }: Limit, bound: string): string {
  return `the limit "${name}" of ${bound}${within === undefined ? "" : ` in ${within}`} per ${per}`;
}

/** What a limit that is used up says, given the time until its oldest use counts no more. */
function exceededVerdict(
  { name: rule, exceeded: verdict }: Limit,
  reason: string,
  freesMs: number,
): CurrentVerdict {
  if (verdict !== "defer") return { verdict, reason, rule };
  const retry_after_ms = Math.min(Math.max(freesMs, RETRY_MS.least), RETRY_MS.most);
  return { verdict, reason, rule, retry_after_ms };
}

/** Uses with the earliest summed up in one, so that their number is bounded. */
function addedUp(uses: Use[]): Use[] {
  const [first, ...rest] = uses.slice(0, Math.max(0, uses.length - TOLD_APART));
  if (!first) return uses;
  return [{ ...first, ...rest.reduce<Usage>(plus, first) }, ...uses.slice(-TOLD_APART)];
}

/** A name, numbered where others of the same name come before it. */
function keyAmong(names: readonly string[], index: number): string {
  const name = names[index] ?? "";
  const before = names.slice(0, index).filter((other) => other === name).length;
  return before === 0 ? name : `${name}#${before}`;
}

function keyOf(limit: string, holder: string): string {
  return `${limit}\n${holder}`;
}

/** Whose use it is: that of the root of the tree, in its tenant. */
function holderOf(subject: Subject, { per }: Limit): string {
  const names = {
    user: subject.user,
    agent: subject.chain[0] ?? subject.agent,
    session: subject.root_session ?? subject.session,
    tenant: "",
  };
  return JSON.stringify([subject.tenant, per, names[per]]);
}

/** Which bound of a limit a usage passes, if any. */
function exceeded(usage: Usage, limit: Limit, time_ms: number | undefined): string | undefined {
  if (limit.calls !== undefined && usage.calls > limit.calls) return `${limit.calls} calls`;
  if (limit.tokens !== undefined && usage.tokens > limit.tokens) return `${limit.tokens} tokens`;
  if (limit.cost !== undefined && usage.cost > limit.cost) return `a cost of ${limit.cost}`;
  if (time_ms !== undefined && usage.time_ms > time_ms) return `${limit.time} of time`;
  return undefined;
}
