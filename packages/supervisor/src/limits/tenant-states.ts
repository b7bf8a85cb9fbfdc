import type { LedgerReader } from "@reins/ledger";
import { History, type Policy, permitsAction, RecordReader, type Subject } from "@reins/policy";
import { change, type Store } from "@reins/store";
import { Limits } from "./limits.ts";
import { limitTables, type Usage, type Use } from "./tables.ts";

/** What has been counted for a tenant under one policy. */
export interface TenantState {
  readonly policy: Policy;
  readonly history: History;
  readonly limits: Limits;
}

/** What counts are restored from. */
export interface TenantStateOptions {
  readonly store: Pick<Store, "query" | "commit">;
  readonly ledger: Pick<LedgerReader, "read">;
  readonly now: () => number;
  readonly newId: () => string;
}

/** The counts of a tenant, and who uses them. */
export interface Held {
  readonly state: TenantState;
  /** Decisions that were begun under it and are not yet written down. */
  open: number;
  /** Called when there are none. */
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
  /** The counts of each tenant for which anything was decided yet. */
  readonly held: ReadonlyMap<string, Held> = this.#held;
  readonly #preparing = new Map<string, Promise<void>>();

  constructor(options: TenantStateOptions) {
    this.#options = options;
  }

  /** Runs a job under a tenant's counts; a policy that is replaced meanwhile waits for it. */
  async under<Result>(
    tenant: string,
    policy: Policy,
    job: (state: TenantState) => Promise<Result>,
  ): Promise<Result> {
    const held = await this.enter(tenant, policy);
    try {
      return await job(held.state);
    } finally {
      leave(held);
    }
  }

  /** A tenant's counts under a policy; the caller lowers `open` again, and calls `idle` at zero. */
  async enter(tenant: string, policy: Policy): Promise<Held> {
    let held = this.#held.get(tenant);
    while (held?.state.policy !== policy) {
      await this.#prepared(tenant, policy);
      held = this.#held.get(tenant);
    }
    held.open += 1;
    return held;
  }

  /** Notes what an action took for which uses of a tenant were reserved. */
  async settle(tenant: string, reserved: readonly Use[], usage: Partial<Usage>): Promise<void> {
    const uses = this.#held.get(tenant)?.state.limits.settle(reserved, usage);
    if (uses) await this.#keep(uses);
  }

  /** Counts what a subject used without a reservation: reported late, or after that was given up. */
  async charge(
    policy: Policy,
    subject: Subject,
    event: { readonly event_type: string; readonly tool?: string | undefined },
    { tokens = 0, cost = 0 }: Partial<Usage>,
  ): Promise<void> {
    if (policy.limits.length === 0 || (tokens === 0 && cost === 0)) return;
    const { event_type, tool = "" } = event;
    await this.under(subject.tenant, policy, async ({ history, limits }) => {
      const action = { tool, effects: [], doubts: [], claims: {}, arguments: {}, opaque: false };
      const at = this.#options.now();
      const input = { event_type, action, subject, counters: history.counters(subject, at), at };
      await this.#keep(limits.charge(input, { tokens, cost }));
    });
  }

  #keep(uses: readonly Use[]): Promise<unknown> {
    return this.#options.store.commit([change(limitTables, "keep", { uses })], { durable: false });
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

/** Ends the use of counts. */
function leave(held: Held): void {
  held.open -= 1;
  if (held.open === 0) held.idle?.();
}

function concluded(held: Held): Promise<void> {
  if (held.open === 0) return Promise.resolve();
  return new Promise((resolve) => {
    held.idle = resolve;
  });
}
