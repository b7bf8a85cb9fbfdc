import { type EngineEnd, type JournaledRun, type RunJournal, StoreJournal } from "@reins/graph";
import { errorMessage, exponentialBackoff, sleep, systemClock } from "@reins/kit";
import type { Draft } from "@reins/ledger";
import { type Change, StoreError } from "@reins/store";
import { type Harness, VaultError } from "@reins/supervisor";
import { isFull } from "../log/backlog.ts";

/** What changes with the journal of a run: in the same commit, and for all to see once that is stored. */
export interface RunTransition {
  readonly changes: () => readonly Change<unknown>[];
  readonly stored: () => Promise<void> | void;
  /** Called when it is not stored, for good. */
  readonly undo: () => void;
}

export interface RecordedJournalOptions<Result> {
  readonly harness: Pick<Harness, "record" | "store" | "vault">;
  /** Whether a run is to last: what others store is not waited for on the disk. */
  readonly isDurable: (run: string) => boolean;
  /** Aborts when Reins stops. */
  readonly stopping: AbortSignal;
  /** Called when a run has to wait until something of it can be stored, and with `undefined` when it is. */
  readonly onWait: (run: string, reason: string | undefined) => void;
  /** What the end of a run changes. */
  readonly ending?: (run: string, end: EngineEnd<Result>) => Promise<RunTransition>;
  /** What a value changes that reopens a run. Rejects where the run is not reopened by it. */
  readonly reopening?: (run: string, value: unknown) => Promise<RunTransition>;
}

const AGAIN = { firstMs: 250, mostMs: 5_000 };

/**
 * The journal of runs, sealed. Stores the result of an attempt in one commit with the ledger entries that tell of it. Where
 * there is no room on the disk it waits until there is: what was done is not forgotten, and not done again.
 */
export class RecordedJournal<Input, Result>
  extends StoreJournal<Input, Result>
  implements RunJournal<Input, Result>
{
  readonly #options: RecordedJournalOptions<Result>;
  readonly #drafts = new Map<string, readonly Draft[]>();
  /** Settles when the write that a run waits for is over. */
  readonly #waiting = new Map<string, Promise<void>>();

  constructor(options: RecordedJournalOptions<Result>) {
    super(options.harness.store, options.harness.vault);
    this.#options = options;
  }

  /** Has entries recorded with the value that is stored next under a name. */
  recordWith(run: string, name: string, drafts: readonly Draft[]): void {
    this.#drafts.set(`${run}/${name}`, drafts);
  }

  override async append(
    run: string,
    name: string,
    value: unknown,
    how: { readonly durable: boolean },
  ): Promise<void> {
    const { harness, isDurable } = this.#options;
    const key = `${run}/${name}`;
    const drafts = this.#drafts.get(key);
    const durable = how.durable && isDurable(run);
    this.#drafts.delete(key);
    await this.#untilStored(run, async () => {
      if (drafts) await harness.record(drafts, { with: [this.entry(run, name, value)], durable });
      else if (how.durable === durable) await super.append(run, name, value, how);
      else await harness.store.commit([this.entry(run, name, value)], { durable });
    });
  }

  /** What cannot be opened any more, because the key is lost, is not there. */
  override async load(run: string): Promise<JournaledRun<Input, Result> | undefined> {
    try {
      return await super.load(run);
    } catch (error) {
      if (error instanceof VaultError) return undefined;
      throw error;
    }
  }

  override async end(run: string, end: EngineEnd<Result>): Promise<void> {
    const transition = await this.#options.ending?.(run, end);
    await this.#change([this.ending(run, end)], transition, (commit) => this.#untilStored(run, commit));
  }

  override async reopen(run: string, name: string, value: unknown): Promise<void> {
    const transition = await this.#options.reopening?.(run, value);
    // Where there is no room it is refused, as a new run is.
    await this.#change(this.reopening(run, name, value), transition, (commit) => commit());
  }

  override cancel(run: string): Promise<void> {
    return this.#untilStored(run, () => super.cancel(run));
  }

  /** Does something about a run that stores what came of it, again and again where there is no room for that. */
  async untilRoom<Value>(run: string, act: () => Promise<Value>): Promise<Value> {
    const { stopping, onWait } = this.#options;
    for (let failures = 0; ; ) {
      try {
        const value = await act();
        if (failures > 0) onWait(run, undefined);
        return value;
      } catch (error) {
        if (!isRetryable(error) || stopping.aborted) throw error;
        failures += 1;
        onWait(run, waitingFor(error));
        await sleep(exponentialBackoff(AGAIN, failures), systemClock, stopping);
      }
    }
  }

  /** Writes until that succeeds. What a run writes meanwhile waits behind it, so that the order stays. */
  async #untilStored(run: string, write: () => Promise<void>): Promise<void> {
    for (;;) {
      await this.#waiting.get(run);
      try {
        return await write();
      } catch (error) {
        if (!isRetryable(error) || this.#options.stopping.aborted) throw error;
        if (this.#waiting.has(run)) continue;
        const waiting = this.#again(run, write, error);
        const over = waiting
          .then(
            () => undefined,
            () => undefined,
          )
          .finally(() => this.#waiting.delete(run));
        this.#waiting.set(run, over);
        return waiting;
      }
    }
  }

  async #change(
    changes: readonly Change<unknown>[],
    transition: RunTransition | undefined,
    store: (commit: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    try {
      await store(async () => {
        await this.#options.harness.store.commit([...changes, ...(transition?.changes() ?? [])]);
      });
    } catch (error) {
      transition?.undo();
      throw error;
    }
    await transition?.stored();
  }

  async #again(run: string, write: () => Promise<void>, first: unknown): Promise<void> {
    const { stopping, onWait } = this.#options;
    let error = first;
    for (let failures = 1; ; failures += 1) {
      onWait(run, waitingFor(error));
      await sleep(exponentialBackoff(AGAIN, failures), systemClock, stopping);
      try {
        await write();
        onWait(run, undefined);
        return;
      } catch (again) {
        if (!isRetryable(again) || stopping.aborted) throw again;
        error = again;
      }
    }
  }
}

function waitingFor(error: unknown): string {
  return `it waits until it can be stored: ${errorMessage(error)}`;
}

function isRetryable(error: unknown): boolean {
  return (error instanceof StoreError && error.retryable) || isFull(error);
}
