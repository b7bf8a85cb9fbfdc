import { change, type Store } from "@reins/store";
import type { EngineEnd } from "./engine.ts";
import type { JournaledRun, RunJournal } from "./journal-engine.ts";
import { graphTables } from "./tables.ts";

/** The journal of runs in the store. Input, entries and results are JSON. */
export class StoreJournal<Input, Result> implements RunJournal<Input, Result> {
  readonly #store: Pick<Store, "commit" | "query">;

  constructor(store: Pick<Store, "commit" | "query">) {
    this.#store = store;
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
      input: input as Input,
      isCanceled,
      entries: new Map(entries),
      end: (end ?? undefined) as EngineEnd<Result> | undefined,
    };
  }

  unfinished(): Promise<readonly string[]> {
    return this.#store.query(graphTables, "unfinished", null);
  }

  async append(
    run: string,
    name: string,
    value: unknown,
    { durable }: { readonly durable: boolean },
  ): Promise<void> {
    const entry = { run, name, value: JSON.stringify(value ?? null) };
    await this.#store.commit([change(graphTables, "append", entry)], { durable, relaxed: !durable });
  }

  async cancel(run: string): Promise<void> {
    await this.#store.commit([change(graphTables, "cancel", { run })]);
  }

  async end(run: string, end: EngineEnd<Result>): Promise<void> {
    await this.#store.commit([change(graphTables, "end", { run, end: JSON.stringify(end) })]);
  }

  async reopen(run: string, name: string, value: unknown): Promise<void> {
    const entry = { run, name, value: JSON.stringify(value ?? null) };
    await this.#store.commit([change(graphTables, "reopen", { run }), change(graphTables, "append", entry)]);
  }
}
