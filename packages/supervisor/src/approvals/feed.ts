import type { Clock } from "@reins/kit";
import type { Draft, Ledger } from "@reins/ledger";
import { type Change, change, type Store, StoreError, type StoreReader } from "@reins/store";
import { withoutSecrets } from "../record/record.ts";
import type { Redact } from "../redaction/redactor.ts";
import { endedDraft } from "./answers.ts";
import { type Approval, type ApprovalChange, isOpen } from "./approval.ts";
import type { AtRest } from "./at-rest.ts";
import { approvalTables, type Move, type Notice, type StoredApproval } from "./tables.ts";
import { type Webhook, webhooksFor } from "./webhooks/lane.ts";

/** Called with a change after it was committed; the feed reports what it throws. */
export type ApprovalListener = (change: ApprovalChange) => unknown;

const PAGE = 256;

/** Notifies listeners of every change, in the order of the commits. */
export class Feed {
  readonly #store: Pick<StoreReader, "query">;
  readonly #atRest: AtRest;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<ApprovalListener>();
  #position: number | undefined;
  #starting: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(store: Pick<StoreReader, "query">, atRest: AtRest, onError: (error: unknown) => void) {
    this.#store = store;
    this.#atRest = atRest;
    this.#onError = onError;
  }

  /** Looks up where the feed begins. To be called before the first commit, which listeners would miss otherwise. */
  start(): Promise<void> {
    if (this.#position !== undefined) return Promise.resolve();
    this.#starting ??= this.#findStart().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Adds a listener; the returned function removes it. */
  subscribe(listener: ApprovalListener): () => void {
    const own: ApprovalListener = (change) => listener(change);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Notifies listeners of what was committed. */
  announce(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#read();
    return this.#reading;
  }

  /** Stops notifying; settles when nothing is being read. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    await this.#reading;
  }

  async #findStart(): Promise<void> {
    this.#position = await this.#store.query(approvalTables, "lastChange", null);
  }

  async #read(): Promise<void> {
    try {
      await this.start();
      while (this.#again && !this.#closed) {
        this.#again = false;
        const after = this.#position ?? 0;
        const page = await this.#store.query(approvalTables, "changes", { after, limit: PAGE });
        for (const change of page) this.#notify(this.#atRest.readChange(change));
        if (page.length === PAGE) this.#again = true;
      }
    } catch (error) {
      // The next announcement begins where this one ended.
      this.#onError(error);
    } finally {
      // At once, and not when the promise settles: an announcement in between would wait for nothing.
      this.#reading = undefined;
    }
  }

  #notify(change: ApprovalChange): void {
    this.#position = change.seq;
    for (const listener of [...this.#listeners]) {
      void this.#call(listener, change);
    }
  }

  /** A listener begins at once and is not waited for. */
  async #call(listener: ApprovalListener, change: ApprovalChange): Promise<void> {
    try {
      await listener(change);
    } catch (error) {
      this.#onError(error);
    }
  }
}

interface StepsOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly webhooks: readonly Webhook[];
  readonly feed: Feed;
  readonly redact: Redact;
}

/** Bound on retries after conflicts. Each conflict means progress elsewhere, so this is never reached. */
const MAX_TRIES = 1_000;

/** Carries out steps of approvals, each of them one commit. */
export class Steps {
  readonly #options: StepsOptions;

  constructor(options: StepsOptions) {
    this.#options = options;
  }

  /** Commits entries together with the changes they record, then notifies subscribers. */
  async commit<const Changes extends readonly Change<unknown>[]>(drafts: readonly Draft[], changes: Changes) {
    const { ledger, feed, redact } = this.#options;
    const recorded = drafts.map((draft) => withoutSecrets(draft, redact));
    const { results } = await ledger.record(recorded, { with: changes });
    void feed.announce();
    return results;
  }

  /** The step from what was found to what an approval becomes. */
  move({ version }: StoredApproval, { id, tenant, state, answers }: Approval): Move {
    return { id, version, state, answers, notice: this.notice(tenant) };
  }

  /** When it is, and which webhooks a change of a tenant's is for. */
  notice(tenant: string): Notice {
    const { clock, webhooks } = this.#options;
    return { at: clock.now().toISOString(), webhooks: webhooksFor(webhooks, tenant) };
  }

  /** Ends an open approval, unless it was ended or used concurrently. */
  async end(
    found: StoredApproval,
    state: "expired" | "withdrawn",
    reason: string,
  ): Promise<Approval | undefined> {
    const { id, tenant } = found.approval;
    let known: StoredApproval | undefined = found;
    return this.untilFirst(async () => {
      const current = known ?? (await this.#options.store.query(approvalTables, "get", { id, tenant }));
      known = undefined;
      if (!current || !isOpen(current.approval)) return undefined;
      const approval: Approval = { ...current.approval, state };
      const move = change(approvalTables, "move", this.move(current, approval));
      await this.commit([endedDraft(approval, reason)], [move]);
      return approval;
    });
  }

  /** Retries on the current state after a conflict. */
  async untilFirst<Result>(attempt: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof StoreError && error.code === "conflict") || tries === MAX_TRIES) throw error;
      }
    }
  }
}

/** The longest wait at a time: clocks are set, and timers hold no more than some weeks. */
const LONGEST_MS = 60_000;

/** Sweeps when the time of the next approval is over. */
export class Expiry {
  readonly #clock: Clock;
  readonly #sweep: () => Promise<unknown>;
  readonly #onError: (error: unknown) => void;
  #next: number | undefined;
  #cancel: (() => void) | undefined;
  #sweeping: Promise<unknown> | undefined;
  #closed = false;

  constructor(clock: Clock, sweep: () => Promise<unknown>, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#sweep = sweep;
    this.#onError = onError;
  }

  /** There is an approval that ends then. */
  arm(expires_at: string): void {
    const end = Date.parse(expires_at);
    if (this.#closed || (this.#next !== undefined && this.#next <= end)) return;
    this.#cancel?.();
    this.#next = end;
    const wait = Math.min(Math.max(end - this.#clock.now().getTime(), 0), LONGEST_MS);
    this.#cancel = this.#clock.after(wait, () => this.#wake(end));
  }

  /** Ends the waiting; settles when a sweep under way is done. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#sweeping;
  }

  #wake(end: number): void {
    this.#next = undefined;
    this.#cancel = undefined;
    if (this.#clock.now().getTime() < end) this.arm(new Date(end).toISOString());
    else this.#sweeping = this.#sweepOrLater();
  }

  /** What could not be swept is over all the same: every read and every use looks at the time itself. */
  async #sweepOrLater(): Promise<void> {
    try {
      await this.#sweep();
    } catch (error) {
      this.arm(new Date(this.#clock.now().getTime() + LONGEST_MS).toISOString());
      this.#onError(error);
    }
  }
}
