import { setTimeout as sleep } from "node:timers/promises";
import {
  homePrefix,
  type Mark,
  ownerOf,
  type ProcessEntry,
  type ProcessTable,
  type TableVisibility,
} from "./process-table.ts";

/** A process by pid and command line. */
interface SeenProcess {
  readonly pid: number;
  readonly command: string;
}

/** Which processes are gone and which are left, as the operating system confirms it. */
export interface Swept {
  readonly gone: readonly SeenProcess[];
  readonly left: readonly SeenProcess[];
}

/** Whether a process matches; `known` are the pids found so far in this scan. */
export type Belongs = (entry: ProcessEntry, known: ReadonlySet<number>) => boolean | Promise<boolean>;

/** How many scans in a row must find nothing. */
const CLEAN_SCANS = 2;
const SCANS = 40;
const PAUSE_MS = 25;

/** Processes that were seen, each by its pid and the time it started. */
export class Sightings {
  readonly #seen = new Map<string, { readonly entry: ProcessEntry; readonly command: string }>();

  /** Adds a process. */
  add(entry: ProcessEntry): void {
    const key = `${entry.pid} ${entry.started}`;
    if (!this.#seen.has(key)) this.#seen.set(key, { entry, command: entry.command() });
  }

  /** Looks up which of them are still alive. */
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

/** Takes the processes that match, each at the moment at which it is seen. */
function scanFor(table: ProcessTable, belongs: Belongs, take: (entry: ProcessEntry) => void): Promise<void> {
  const known = new Set<number>();
  const decided = (entry: ProcessEntry, matches: boolean) => {
    if (!matches) return;
    known.add(entry.pid);
    take(entry);
  };
  return table.scan((entry) => {
    const matches = belongs(entry, known);
    return typeof matches === "boolean"
      ? decided(entry, matches)
      : matches.then((settled) => decided(entry, settled));
  });
}

/**
 * Kills matching processes until scans find none, or the limit of scans is reached. The first scan only collects, because
 * a child whose parent has died may no longer match; later scans kill each process as soon as it is seen.
 */
export async function sweep(
  table: ProcessTable,
  belongs: Belongs,
  seen: Sightings = new Sightings(),
): Promise<Swept> {
  const self = await table.find(process.pid);
  const kill = (entry: ProcessEntry) => {
    seen.add(entry);
    // The group at once, because a fork cannot escape that. Each agent leads a session, so a group of its own holds no other.
    if (entry.group > 1 && entry.group !== self?.group) table.signal(-entry.group, "SIGKILL");
    table.signal(entry.pid, "SIGKILL");
  };
  const first: ProcessEntry[] = [];
  await scanFor(table, belongs, (entry) => first.push(entry));
  for (const entry of first) seen.add(entry);
  for (const entry of first) kill(entry);
  let clean = 0;
  for (let scan = 0; scan < SCANS && clean < CLEAN_SCANS; scan += 1) {
    let alive = 0;
    await scanFor(table, belongs, (entry) => {
      alive += 1;
      kill(entry);
    });
    clean = alive === 0 ? clean + 1 : 0;
    if (alive > 0) await sleep(PAUSE_MS);
  }
  return seen.confirm(table);
}

/** The processes of one launch: the process itself, its group, its descendants and marked strays. */
export class Family {
  readonly leader: number;
  readonly #mark: Mark;
  readonly #table: ProcessTable;
  readonly #spared: number;
  readonly #seen = new Sightings();

  /** `confined`: the leader is a sandbox, which ends at once, with everything in it, on SIGTERM. */
  constructor(leader: number, mark: Mark, table: ProcessTable, confined: boolean) {
    this.leader = leader;
    this.#mark = mark;
    this.#table = table;
    this.#spared = confined ? leader : 0;
  }

  /** The mark that all of them carry. */
  get mark(): Mark {
    return this.#mark;
  }

  /** Collects the processes, so that a later report can name them. */
  look(): Promise<void> {
    return this.#members((entry) => this.#seen.add(entry));
  }

  /** Sends SIGTERM to all. */
  async terminate(): Promise<void> {
    if (this.#spared === 0) this.#table.signal(-this.leader, "SIGTERM");
    await this.#members((entry) => {
      this.#seen.add(entry);
      const inGroup = this.#spared === 0 && entry.group === this.leader;
      if (!inGroup && entry.pid !== this.#spared) this.#table.signal(entry.pid, "SIGTERM");
    });
  }

  /** The oldest of them that has a terminal. */
  async inTerminal(): Promise<ProcessEntry | undefined> {
    let oldest: ProcessEntry | undefined;
    await this.#members((entry) => {
      if (entry.terminal !== 0 && entry.started < (oldest?.started ?? Number.POSITIVE_INFINITY))
        oldest = entry;
    });
    return oldest;
  }

  /** Kills the group at once; {@link end} kills the rest. */
  kill(): void {
    this.#table.signal(-this.leader, "SIGKILL");
  }

  /** Kills all and reports the outcome. */
  end(): Promise<Swept> {
    return sweep(this.#table, this.#belongs, this.#seen);
  }

  #members(take: (entry: ProcessEntry) => void): Promise<void> {
    return scanFor(this.#table, this.#belongs, take);
  }

  readonly #belongs = (entry: ProcessEntry, known: ReadonlySet<number>): boolean => {
    if (entry.pid === this.leader || entry.group === this.leader || known.has(entry.parent)) return true;
    const { text, brand } = entry.marks();
    return text === this.#mark.text || brand === this.#mark.brand;
  };
}

/** The outcome for processes that an earlier run left behind. */
export interface StrayReport extends Swept {
  /** With `group`, processes of an earlier run are not visible. */
  readonly visibility: TableVisibility;
}

/**
 * Ends what earlier runs of this home left behind: every process that carries a mark whose owner is gone. Processes
 * of another run that is alive are left alone.
 */
export async function sweepStrays(home: string, table: ProcessTable): Promise<StrayReport> {
  const prefix = homePrefix(home);
  const belongs = async (entry: ProcessEntry) => {
    const pid = ownerOf(entry.marks(), prefix);
    if (pid === undefined) return false;
    const owner = await table.find(pid);
    // An owner that started later than its process only reuses the pid.
    return owner === undefined || owner.started > entry.started;
  };
  const { visibility } = table;
  // Mostly there is none, and then one scan is enough.
  let found = 0;
  await scanFor(table, belongs, () => {
    found += 1;
  });
  return { ...(found > 0 ? await sweep(table, belongs) : { gone: [], left: [] }), visibility };
}
