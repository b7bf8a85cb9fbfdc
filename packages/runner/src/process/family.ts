import type { Mark } from "./mark.ts";
import { Sightings, type Swept, scanFor, sweep } from "./sweep.ts";
import type { ProcessEntry, ProcessTable } from "./table.ts";

/** Everything that came out of one launch: the process itself, its group, its descendants and marked strays. */
export class Family {
  readonly leader: number;
  readonly #mark: Mark;
  readonly #table: ProcessTable;
  readonly #spared: number;
  readonly #seen = new Sightings();

  /** `confined` says that the leader is a sandbox, which ends at once, and all in it, when it is asked to. */
  constructor(leader: number, mark: Mark, table: ProcessTable, confined: boolean) {
    this.leader = leader;
    this.#mark = mark;
    this.#table = table;
    this.#spared = confined ? leader : 0;
  }

  /** What everyone of it carries. */
  get mark(): Mark {
    return this.#mark;
  }

  /** Looks who is there, so that a later report can name them. */
  async look(): Promise<void> {
    for await (const entry of this.#members()) this.#seen.add(entry);
  }

  /** Asks everyone to end. */
  async terminate(): Promise<void> {
    if (this.#spared === 0) this.#table.signal(-this.leader, "SIGTERM");
    for await (const entry of this.#members()) {
      this.#seen.add(entry);
      const inGroup = this.#spared === 0 && entry.group === this.leader;
      if (!inGroup && entry.pid !== this.#spared) this.#table.signal(entry.pid, "SIGTERM");
    }
  }

  /** Kills the group at once; {@link end} sees to the rest. */
  kill(): void {
    this.#table.signal(-this.leader, "SIGKILL");
  }

  /** Kills everyone and tells what became of them. */
  end(): Promise<Swept> {
    return sweep(this.#table, this.#belongs, this.#seen);
  }

  #members(): AsyncGenerator<ProcessEntry> {
    return scanFor(this.#table, this.#belongs);
  }

  readonly #belongs = (entry: ProcessEntry, known: ReadonlySet<number>): boolean => {
    if (entry.pid === this.leader || entry.group === this.leader || known.has(entry.parent)) return true;
    const { text, brand } = entry.marks();
    return text === this.#mark.text || brand === this.#mark.brand;
  };
}
