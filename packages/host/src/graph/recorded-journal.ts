import { graphTables, type RunJournal, StoreJournal } from "@reins/graph";
import type { Draft } from "@reins/ledger";
import { type Change, change } from "@reins/store";
import type { Harness } from "@reins/supervisor";

/**
 * A journal that stores the result of an attempt in one commit with the ledger entries that tell of it. What runs store
 * that are not to last is not waited for on the disk.
 */
export class RecordedJournal<Input, Result>
  extends StoreJournal<Input, Result>
  implements RunJournal<Input, Result>
{
  readonly #harness: Pick<Harness, "record" | "store">;
  readonly #isDurable: (run: string) => boolean;
  readonly #drafts = new Map<string, readonly Draft[]>();

  constructor(harness: Pick<Harness, "record" | "store">, isDurable: (run: string) => boolean) {
    super(harness.store);
    this.#harness = harness;
    this.#isDurable = isDurable;
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
    const key = `${run}/${name}`;
    const durable = how.durable && this.#isDurable(run);
    const drafts = this.#drafts.get(key);
    if (!drafts && how.durable === durable) return super.append(run, name, value, how);
    if (!drafts)
      return void (await this.#harness.store.commit([journalEntry(run, name, value)], { durable }));
    this.#drafts.delete(key);
    await this.#harness.record(drafts, { with: [journalEntry(run, name, value)], durable });
  }
}

/** Adds an entry to the journal of a run. */
export function journalEntry(run: string, name: string, value: unknown): Change<undefined> {
  return change(graphTables, "append", { run, name, value: JSON.stringify(value ?? null) });
}
