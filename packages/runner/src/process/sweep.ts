import { setTimeout as sleep } from "node:timers/promises";
import { homePrefix, type Mark, ownerOf } from "./mark.ts";
import type { ProcessEntry, ProcessTable, TableSight } from "./process-table.ts";

/** A process, as a person would look for it. */
interface SeenProcess {
  readonly pid: number;
  readonly command: string;
}

/** What became of processes that were to end, as the operating system confirms it. */
export interface Swept {
  readonly gone: readonly SeenProcess[];
  readonly left: readonly SeenProcess[];
}

/** Whether a process is one of those meant; `known` are the pids of those found so far in this scan. */
export type Belongs = (entry: ProcessEntry, known: ReadonlySet<number>) => boolean | Promise<boolean>;

/** Who can be dodged once is looked for again. */
const CLEAN_SCANS = 2;
const SCANS = 40;
const PAUSE_MS = 25;

/** Processes that were seen, each by its pid and the time it started. */
export class Sightings {
  readonly #seen = new Map<string, { readonly entry: ProcessEntry; readonly command: string }>();

  /** Remembers a process. */
  add(entry: ProcessEntry): void {
    const key = `${entry.pid} ${entry.started}`;
    if (!this.#seen.has(key)) this.#seen.set(key, { entry, command: entry.command() });
  }

  /** Asks the table which of them are still there. */
  async confirm(table: ProcessTable): Promise<Swept> {
    const gone: SeenProcess[] = [];
    const left: SeenProcess[] = [];
    for (const { entry, command } of this.#seen.values()) {
      const now = await table.find(entry.pid);
      (now?.started === entry.started ? left : gone).push({ pid: entry.pid, command });
    }
    return { gone, left };
  }
}

/** The processes that belong. */
async function* scanFor(table: ProcessTable, belongs: Belongs): AsyncGenerator<ProcessEntry> {
  const known = new Set<number>();
  for await (const entry of table.scan()) {
    if (!(await belongs(entry, known))) continue;
    known.add(entry.pid);
    yield entry;
  }
}

/**
 * Kills the processes that belong until none is seen any more, or nothing helps. First all are looked for, because a
 * child whose parent has died may no longer be known as one; from then on each is killed the moment it is seen,
 * because some do not stay where they are.
 */
export async function sweep(
  table: ProcessTable,
  belongs: Belongs,
  seen: Sightings = new Sightings(),
): Promise<Swept> {
  const self = await table.find(process.pid);
  const kill = (entry: ProcessEntry) => {
    seen.add(entry);
    // As one, because nobody forks out of that. Each agent begins a session, so nobody else is in a group of its own.
    if (entry.group > 1 && entry.group !== self?.group) table.signal(-entry.group, "SIGKILL");
    table.signal(entry.pid, "SIGKILL");
  };
  const first = await Array.fromAsync(scanFor(table, belongs));
  for (const entry of first) seen.add(entry);
  for (const entry of first) kill(entry);
  let clean = 0;
  for (let scan = 0; scan < SCANS && clean < CLEAN_SCANS; scan += 1) {
    let alive = 0;
    for await (const entry of scanFor(table, belongs)) {
      alive += 1;
      kill(entry);
    }
    clean = alive === 0 ? clean + 1 : 0;
    if (alive > 0) await sleep(PAUSE_MS);
  }
  return seen.confirm(table);
}

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

/** What became of processes that an earlier run left behind. */
export interface StrayReport extends Swept {
  /** How far we could look; with `group`, not at all for processes of an earlier run. */
  readonly sight: TableSight;
}

/**
 * Ends what earlier runs of this home left behind: whoever carries a mark whose giver is no longer there. Processes
 * of another run that is alive are left in peace.
 */
export async function sweepStrays(home: string, table: ProcessTable): Promise<StrayReport> {
  const prefix = homePrefix(home);
  const belongs = async (entry: ProcessEntry) => {
    const pid = ownerOf(entry.marks(), prefix);
    if (pid === undefined) return false;
    const owner = await table.find(pid);
    // Who started after what it would have started only has the same pid.
    return owner === undefined || owner.started > entry.started;
  };
  const { sight } = table;
  // Mostly there is nobody, and then one look is enough: nobody is there to make others.
  for await (const _ of scanFor(table, belongs)) return { ...(await sweep(table, belongs)), sight };
  return { gone: [], left: [], sight };
}
