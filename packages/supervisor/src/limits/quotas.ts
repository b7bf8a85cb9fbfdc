import { type Clock, type RateState, systemClock } from "@reins/kit";
import { LOCAL } from "../identity/principal.ts";

/** What is counted by time, and the time that each amount is for, in milliseconds. */
const WINDOWS = { requests: 60_000, messages: 60_000, prompts: 60_000, installs: 3_600_000 } as const;

/** What a principal or tenant does so often in a time. */
type QuotaRate = keyof typeof WINDOWS;

/** What a principal or tenant has so much of at once. */
type QuotaHolding =
  | "open_requests"
  | "streams"
  | "sessions"
  | "agents"
  | "commands"
  | "studies"
  | "file_requests"
  | "stored_bytes"
  | "file_bytes";

/** The most of each. */
type Quota = Readonly<Record<QuotaRate | QuotaHolding, number>>;

/** Those that differ from the defaults. */
type SomeQuota = { readonly [Kind in keyof Quota]?: number | undefined };

/** The quotas of each principal and of each tenant, and of tenants with their own. */
export interface QuotaSettings {
  readonly principal?: SomeQuota | undefined;
  readonly tenant?: SomeQuota | undefined;
  readonly tenants?: Readonly<Record<string, SomeQuota>> | undefined;
}

/** Enough for people and busy programs; one tenant reaches its own before it is felt by others. */
const OF_PRINCIPAL: Quota = {
  ...{ requests: 6_000, messages: 60_000, prompts: 300, installs: 30 },
  ...{ open_requests: 1_000, streams: 500, sessions: 1_000, agents: 50, commands: 64, studies: 2 },
  ...{ file_requests: 64, stored_bytes: Number.POSITIVE_INFINITY, file_bytes: Number.POSITIVE_INFINITY },
};
const OF_TENANT: Quota = {
  ...{ requests: 18_000, messages: 180_000, prompts: 900, installs: 60 },
  ...{ open_requests: 4_000, streams: 2_000, sessions: 5_000, agents: 100, commands: 256, studies: 3 },
  ...{ file_requests: 256, stored_bytes: 10 * 1024 ** 3, file_bytes: 100 * 1024 ** 3 },
};

/** Who uses something. The tenant of a principal may not be known yet. */
export interface QuotaHolder {
  readonly id: string;
  readonly tenant?: string | undefined;
}

/** How much a principal, and its tenant, have of something. */
export interface QuotaUsage {
  readonly principal: number;
  readonly tenant: number;
}

const NOTHING: QuotaUsage = { principal: 0, tenant: 0 };

/** More was wanted than a quota has. */
export class QuotaError extends Error {
  override readonly name = "QuotaError";
  readonly code = "quota_exceeded";
  readonly quota: QuotaRate | QuotaHolding;
  readonly retryAfterMs: number;
  readonly state: RateState | undefined;

  constructor(quota: QuotaRate | QuotaHolding, message: string, retryAfterMs: number, state?: RateState) {
    super(message);
    this.quota = quota;
    this.retryAfterMs = retryAfterMs;
    this.state = state;
  }
}

/** The most holders to remember; those that were quiet the longest are forgotten, and have all of theirs again. */
const MOST_HOLDERS = 20_000;
/** When to ask again for what others have to give back first. */
const HELD_RETRY_MS = 10_000;

interface Bucket {
  level: number;
  at: number;
}

/** Bounds what principals and tenants use, so that one does not starve others. The operator has no quota. */
export class Quotas {
  readonly #settings: QuotaSettings;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();
  readonly #held = new Map<string, number>();

  constructor(settings: QuotaSettings = {}, clock: Clock = systemClock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Counts one use of a rate, for the principal and for its tenant; returns what is left of the one with less. */
  take(rate: QuotaRate, holder: QuotaHolder): RateState | undefined {
    if (holder.id === LOCAL) return undefined;
    const scopes = this.#scopes(rate, holder);
    const buckets = scopes.map(({ key, limit }) => this.#filled(key, limit, WINDOWS[rate]));
    const states = buckets.map(({ level }, index) =>
      stateOf(level, scopes[index]?.limit ?? 0, WINDOWS[rate]),
    );
    for (const [index, { level }] of buckets.entries()) {
      if (level >= 1) continue;
      const { who = "", limit = 0 } = scopes[index] ?? {};
      const retryMs = limit > 0 ? ((1 - level) * WINDOWS[rate]) / limit : WINDOWS[rate];
      const message = `${who} may make ${limit} ${rate} in ${WINDOWS[rate] / 1_000} s; wait`;
      throw new QuotaError(rate, message, retryMs, states[index]);
    }
    for (const bucket of buckets) bucket.level -= 1;
    const [least] = states.toSorted((one, other) => one.remaining - other.remaining);
    return least && { ...least, remaining: Math.max(0, least.remaining - 1) };
  }

  /**
   * Counts one use of a rate, or waits until there is one: for what comes over a connection, whose sender waits then, too.
   * Rejects where there is none in the time that the amount is for.
   */
  turn(rate: QuotaRate, holder: QuotaHolder): undefined | Promise<void> {
    try {
      this.take(rate, holder);
      return undefined;
    } catch (error) {
      return this.#later(rate, holder, error);
    }
  }

  /**
   * Takes one of what is held at once, for the principal and for its tenant, beside what the caller knows to be used;
   * returns `release`.
   */
  hold(holding: QuotaHolding, holder: QuotaHolder, used: QuotaUsage = NOTHING): () => void {
    if (holder.id === LOCAL) return () => {};
    const scopes = this.#scopes(holding, holder);
    const [own = 0, all = 0] = scopes.map(({ key }) => this.#held.get(key) ?? 0);
    this.require(holding, holder, { principal: used.principal + own, tenant: used.tenant + all });
    const add = (amount: number) => {
      for (const { key } of scopes) {
        const held = (this.#held.get(key) ?? 0) + amount;
        if (held > 0) this.#held.set(key, held);
        else this.#held.delete(key);
      }
    };
    add(1);
    let isHeld = true;
    return () => {
      if (isHeld) add(-1);
      isHeld = false;
    };
  }

  /** Refuses one more of what is held at once, where the caller knows how much that is. */
  require(holding: QuotaHolding, holder: QuotaHolder, used: QuotaUsage): void {
    if (holder.id === LOCAL) return;
    const [own, all] = this.#scopes(holding, holder);
    for (const [scope, amount] of [
      [own, used.principal],
      [all, used.tenant],
    ] as const)
      if (scope && amount >= scope.limit)
        throw new QuotaError(
          holding,
          `${scope.who} has ${amount} of ${scope.limit} ${holding}; end or delete some`,
          HELD_RETRY_MS,
        );
  }

  /** Whether there is a bound at all. */
  bounds(kind: QuotaRate | QuotaHolding, holder: QuotaHolder): boolean {
    return holder.id !== LOCAL && this.#scopes(kind, holder).some(({ limit }) => Number.isFinite(limit));
  }

  async #later(rate: QuotaRate, holder: QuotaHolder, first: unknown): Promise<void> {
    let refused = first;
    for (let waited = 0; refused instanceof QuotaError && waited < WINDOWS[rate]; ) {
      const waitMs = Math.max(1, Math.ceil(refused.retryAfterMs));
      await new Promise<void>((resolve) => this.#clock.after(waitMs, resolve));
      waited += waitMs;
      try {
        this.take(rate, holder);
        return;
      } catch (error) {
        refused = error;
      }
    }
    throw refused;
  }

  #scopes(kind: QuotaRate | QuotaHolding, { id, tenant }: QuotaHolder) {
    const { principal, tenant: each, tenants = {} } = this.#settings;
    const own = {
      key: `${kind} of principal ${id}`,
      who: "this principal",
      limit: principal?.[kind] ?? OF_PRINCIPAL[kind],
    };
    if (tenant === undefined) return [own];
    const special = Object.hasOwn(tenants, tenant) ? tenants[tenant]?.[kind] : undefined;
    const limit = special ?? each?.[kind] ?? OF_TENANT[kind];
    return [own, { key: `${kind} of tenant ${tenant}`, who: "this tenant", limit }];
  }

  /** The bucket of a key, with what has come back since it was last used. */
  #filled(key: string, limit: number, windowMs: number): Bucket {
    const now = this.#clock.now().getTime();
    const bucket = this.#buckets.get(key) ?? { level: limit, at: now };
    const back = (Math.max(0, now - bucket.at) * limit) / windowMs;
    bucket.level = Math.min(limit, bucket.level + back);
    bucket.at = now;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    const [quietest] = this.#buckets.keys();
    if (this.#buckets.size > MOST_HOLDERS && quietest !== undefined) this.#buckets.delete(quietest);
    return bucket;
  }
}

function stateOf(level: number, limit: number, windowMs: number): RateState {
  const resetMs = limit > 0 ? ((limit - level) * windowMs) / limit : windowMs;
  return { limit, remaining: Math.max(0, Math.floor(level)), windowMs, resetMs };
}
