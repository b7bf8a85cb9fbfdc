import type { Run } from "./tables.ts";

/** Messages that the journal has and the store gets together. */
export class Gathered {
  readonly runs: Run[] = [];
  /** How many messages they are. */
  count = 0;
  /** How many characters they have. */
  size = 0;
  /** What the journal knows the last of them by. */
  mark = 0;

  /** Takes more, which the journal has just written. */
  add(runs: readonly Run[], { count, size, mark }: Pick<Gathered, "count" | "size" | "mark">): void {
    for (const run of runs) this.runs.push(run);
    this.count += count;
    this.size += size;
    this.mark = mark;
  }
}
