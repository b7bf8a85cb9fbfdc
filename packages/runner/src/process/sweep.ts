import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessEntry, ProcessTable } from "./table.ts";

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
export async function* scanFor(table: ProcessTable, belongs: Belongs): AsyncGenerator<ProcessEntry> {
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
