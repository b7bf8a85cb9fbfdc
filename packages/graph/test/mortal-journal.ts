import { MemoryJournal } from "../src/engine/memory-journal.ts";

/** A journal in memory that may stop storing, as a disk does when its process is killed. */
export class MortalJournal<Input, Result> extends MemoryJournal<Input, Result> {
  /** How many more appends are stored; afterwards the process counts as dead. */
  left = Number.POSITIVE_INFINITY;

  override async append(run: string, name: string, value: unknown): Promise<void> {
    if (this.left <= 0) return new Promise(() => undefined);
    this.left -= 1;
    return super.append(run, name, structuredClone(value));
  }

  override async end(...given: Parameters<MemoryJournal<Input, Result>["end"]>): Promise<void> {
    return this.left <= 0 ? new Promise(() => undefined) : super.end(...given);
  }
}
