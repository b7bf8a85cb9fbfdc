import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { Lifeline } from "./lifeline.ts";
import { type Mark, type MarkPrefix, markOf, ownerPrefix } from "./mark.ts";
import { type StrayReport, sweepStrays } from "./strays.ts";
import { systemTable } from "./system-table.ts";
import type { ProcessTable } from "./table.ts";

/** This process, as the one that starts agents from one home. There is one for each home. */
export class Owner {
  readonly lifeline: Lifeline;
  readonly table: ProcessTable;
  readonly #home: string;
  readonly #prefix: MarkPrefix;
  #count = 0;

  constructor(home: string, table: ProcessTable = systemTable) {
    this.#home = realpathSync(home);
    this.#prefix = ownerPrefix(this.#home, process.pid);
    this.lifeline = new Lifeline(this.#prefix);
    this.table = table;
  }

  /** A mark that nobody had before. */
  newMark(): Mark {
    this.#count += 1;
    return markOf(this.#prefix, randomBytes(16).toString("hex"), this.#count);
  }

  /** Ends what earlier runs of the home left behind. To be called before agents are started. */
  sweepStrays(): Promise<StrayReport> {
    return sweepStrays(this.#home, this.table);
  }
}
