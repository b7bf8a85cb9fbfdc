import type { LedgerReader } from "@reins/ledger";
import { History, type Policy, permitsAction, RecordReader } from "@reins/policy";
import type { Store } from "@reins/store";
import { Limits } from "../limits/limits.ts";
import { limitTables } from "../limits/tables.ts";

/** What has been counted for a tenant under one policy. */
export interface TenantState {
  readonly policy: Policy;
  readonly history: History;
  readonly limits: Limits;
}

/** What counts are restored from. */
export interface TenantStateOptions {
  readonly store: Pick<Store, "query">;
  readonly ledger: Pick<LedgerReader, "read">;
  readonly now: () => number;
  readonly newId: () => string;
}

interface Held {
  readonly state: TenantState;
  /** Decisions that were begun under it and are not yet written down. */
  open: number;
  /** Told when there are none. */
  idle: (() => void) | undefined;
}

const PAGE = 1_000;

/**
 * The counts of every tenant. A process that starts takes them from the store and the ledger; a policy that is swapped
 * takes them over from the one before, after what was under way is written down, so that nothing escapes a limit.
 */
export class TenantStates {
  readonly #options: TenantStateOptions;
  readonly #held = new Map<string, Held>();
  readonly #preparing = new Map<string, Promise<void>>();

  constructor(options: TenantStateOptions) {
    this.#options = options;
  }

  /** Runs a decision under a tenant's counts. */
  async under<Result>(
    tenant: string,
    policy: Policy,
    decide: (state: TenantState) => Promise<Result>,
  ): Promise<Result> {
    let held = this.#held.get(tenant);
    while (held?.state.policy !== policy) {
      await this.#prepared(tenant, policy);
      held = this.#held.get(tenant);
    }
    held.open += 1;
    try {
      return await decide(held.state);
    } finally {
      held.open -= 1;
      if (held.open === 0) held.idle?.();
    }
  }

  /** A tenant's counts as they are now, if anything was decided yet. */
  of(tenant: string): TenantState | undefined {
    return this.#held.get(tenant)?.state;
  }

  #prepared(tenant: string, policy: Policy): Promise<void> {
    const preparing =
      this.#preparing.get(tenant) ??
      this.#prepare(tenant, policy).finally(() => this.#preparing.delete(tenant));
    this.#preparing.set(tenant, preparing);
    return preparing;
  }

  async #prepare(tenant: string, policy: Policy): Promise<void> {
    const before = this.#held.get(tenant);
    if (before) await concluded(before);
    const limits = new Limits(policy, this.#options.newId);
    if (before) limits.takeOver(before.state.limits);
    else limits.restore(await this.#uses(tenant, limits.longestMs));
    const history = await this.#history(tenant, policy);
    this.#held.set(tenant, { state: { policy, history, limits }, open: 0, idle: undefined });
  }

  async #uses(tenant: string, longestMs: number) {
    if (longestMs === 0) return [];
    const { store, now } = this.#options;
    const uses = await store.query(limitTables, "since", { at: now() - longestMs });
    return uses.filter(({ holder }) => JSON.parse(holder)[0] === tenant);
  }

  /** What was allowed according to the ledger, as far as the policy's sequences need it. */
  async #history(tenant: string, policy: Policy): Promise<History> {
    const history = new History(policy.sequences);
    if (policy.sequences.length === 0) return history;
    const reader = new RecordReader();
    const range = { quality: "policy_verdict", limit: PAGE, ...this.#since(policy) };
    for (let after = -1; ; ) {
      const page = await this.#options.ledger.read({ ...range, after });
      for (const { seq, entry } of page) {
        after = seq;
        const verdict = reader.read(entry.payload);
        if (typeof verdict === "string" || verdict.subject.tenant !== tenant) continue;
        if (permitsAction(verdict.outcome)) history.note(verdict);
      }
      if (page.length < PAGE) return history;
    }
  }

  #since({ sequences }: Policy): { since?: string } {
    const longest = Math.max(...sequences.map(({ within }) => within ?? Number.POSITIVE_INFINITY));
    if (longest === Number.POSITIVE_INFINITY) return {};
    return { since: new Date(this.#options.now() - longest).toISOString() };
  }
}

function concluded(held: Held): Promise<void> {
  if (held.open === 0) return Promise.resolve();
  return new Promise((resolve) => {
    held.idle = resolve;
  });
}
