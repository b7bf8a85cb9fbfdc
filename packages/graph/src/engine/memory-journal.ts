import type { EngineEnd } from "./engine.ts";
import type { JournaledRun, RunJournal } from "./journal-engine.ts";

type Writable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

const MOST_ENDED = 100;

/** A journal of runs that live as long as the process. Of those that have ended, it keeps the last. */
export class MemoryJournal<Input, Result> implements RunJournal<Input, Result> {
  readonly #runs = new Map<
    string,
    Writable<Omit<JournaledRun<Input, Result>, "entries">> & { readonly entries: Map<string, unknown> }
  >();
  readonly #ended = new Set<string>();

  async create(run: string, input: Input): Promise<void> {
    if (!this.#runs.has(run))
      this.#runs.set(run, { input, entries: new Map(), isCanceled: false, end: undefined });
  }

  async load(run: string): Promise<JournaledRun<Input, Result> | undefined> {
    const found = this.#runs.get(run);
    return found && { ...found, entries: new Map(found.entries) };
  }

  async unfinished(): Promise<readonly string[]> {
    return [...this.#runs.keys()].filter((run) => !this.#ended.has(run));
  }

  async append(run: string, name: string, value: unknown): Promise<void> {
    this.#runs.get(run)?.entries.set(name, value);
  }

  async cancel(run: string): Promise<void> {
    const found = this.#runs.get(run);
    if (found) found.isCanceled = true;
  }

  async end(run: string, end: EngineEnd<Result>): Promise<void> {
    const found = this.#runs.get(run);
    if (!found) return;
    found.end = end;
    this.#ended.add(run);
    for (const oldest of this.#ended) {
      if (this.#ended.size <= MOST_ENDED) break;
      this.#ended.delete(oldest);
      this.#runs.delete(oldest);
    }
  }

  async reopen(run: string, name: string, value: unknown): Promise<void> {
    const found = this.#runs.get(run);
    if (!found) return;
    found.end = undefined;
    this.#ended.delete(run);
    found.entries.set(name, value);
  }
}
