import type { JournaledRun, RunJournal } from "../src/journal-engine.ts";

/** A journal in memory that may stop storing, as a disk does when its process is killed. */
export class MemoryJournal<Input, Result> implements RunJournal<Input, Result> {
  readonly runs = new Map<
    string,
    { -readonly [Key in keyof JournaledRun<Input, Result>]: JournaledRun<Input, Result>[Key] }
  >();
  /** How many more appends are stored; afterwards the process counts as dead. */
  left = Number.POSITIVE_INFINITY;

  async create(run: string, input: Input): Promise<void> {
    if (!this.runs.has(run))
      this.runs.set(run, { input, entries: new Map(), isCanceled: false, end: undefined });
  }
  async load(run: string): Promise<JournaledRun<Input, Result> | undefined> {
    const found = this.runs.get(run);
    return found && { ...found, entries: new Map(found.entries) };
  }
  async unfinished(): Promise<readonly string[]> {
    return [...this.runs].filter(([, { end }]) => !end).map(([run]) => run);
  }
  async append(run: string, name: string, value: unknown): Promise<void> {
    if (this.left <= 0) return new Promise(() => undefined);
    this.left -= 1;
    const found = this.runs.get(run);
    if (found) found.entries = new Map([...found.entries, [name, structuredClone(value)]]);
  }
  async cancel(run: string): Promise<void> {
    const found = this.runs.get(run);
    if (found) found.isCanceled = true;
  }
  async end(run: string, end: JournaledRun<Input, Result>["end"]): Promise<void> {
    if (this.left <= 0) return new Promise(() => undefined);
    const found = this.runs.get(run);
    if (found) found.end = end;
  }
}
