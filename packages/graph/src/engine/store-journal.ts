import { type Change, change, parseStored, type Store } from "@reins/store";
import type { EngineEnd } from "./engine.ts";
import type { JournaledRun, RunJournal } from "./journal-engine.ts";
import { graphTables, type JournalRow } from "./tables.ts";

/** How texts lie in the database: sealed for their place. */
export interface JournalSeal {
  seal(place: string, text: string): string;
  open(place: string, sealed: string): string;
}

const AS_IT_IS: JournalSeal = { seal: (_, text) => text, open: (_, text) => text };

/** The journal of runs in the store. Input, entries and results are JSON. */
export class StoreJournal<Input, Result> implements RunJournal<Input, Result> {
  readonly #store: Pick<Store, "commit" | "query">;
  readonly #seal: JournalSeal;

  constructor(store: Pick<Store, "commit" | "query">, seal: JournalSeal = AS_IT_IS) {
    this.#store = store;
    this.#seal = seal;
  }

  async create(run: string, input: Input): Promise<void> {
    await this.#store.commit([change(graphTables, "create", { run, input: JSON.stringify(input) })]);
  }

  async load(run: string): Promise<JournaledRun<Input, Result> | undefined> {
    const stored = await this.#store.query(graphTables, "load", { run });
    if (!stored) return undefined;
    const { input, isCanceled, end, entries } = stored;
    // What is stored was written by this class, for a run with the same types.
    return {
      input: parseStored<Input>(input),
      isCanceled,
      entries: new Map(
        entries.map(([name, value]) => [
          name,
          parseStored(this.#seal.open(journalPlace({ run, name }), value)),
        ]),
      ),
      end:
        end === null
          ? undefined
          : parseStored<EngineEnd<Result>>(this.#seal.open(journalPlace({ run, name: null }), end)),
    };
  }

  unfinished(): Promise<readonly string[]> {
    return this.#store.query(graphTables, "unfinished", null);
  }

  /** Adds an entry to the journal of a run, in a commit of the caller. */
  entry(run: string, name: string, value: unknown): Change<undefined> {
    const text = JSON.stringify(value ?? null);
    return change(graphTables, "append", {
      run,
      name,
      value: this.#seal.seal(journalPlace({ run, name }), text),
    });
  }

  async append(
    run: string,
    name: string,
    value: unknown,
    { durable }: { readonly durable: boolean },
  ): Promise<void> {
    await this.#store.commit([this.entry(run, name, value)], { durable, relaxed: !durable });
  }

  /** Cancels a run, in a commit of the caller. */
  canceling(run: string): Change<undefined> {
    return change(graphTables, "cancel", { run });
  }

  async cancel(run: string): Promise<void> {
    await this.#store.commit([this.canceling(run)]);
  }

  /** Ends a run, in a commit of the caller. */
  ending(run: string, end: EngineEnd<Result>): Change<undefined> {
    const text = this.#seal.seal(journalPlace({ run, name: null }), JSON.stringify(end));
    return change(graphTables, "end", { run, end: text });
  }

  async end(run: string, end: EngineEnd<Result>): Promise<void> {
    await this.#store.commit([this.ending(run, end)]);
  }

  /** Reopens a run with a value, in a commit of the caller. */
  reopening(run: string, name: string, value: unknown): readonly Change<undefined>[] {
    return [change(graphTables, "reopen", { run }), this.entry(run, name, value)];
  }

  async reopen(run: string, name: string, value: unknown): Promise<void> {
    await this.#store.commit(this.reopening(run, name, value));
  }
}

/** The place that a row of the journal is sealed for. */
export function journalPlace({ run, name }: Pick<JournalRow, "run" | "name">): string {
  return name === null ? `graph_runs/${run}` : `graph_entries/${run}/${name}`;
}
