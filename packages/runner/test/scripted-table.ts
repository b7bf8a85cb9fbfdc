import type { Mark, ProcessEntry, ProcessTable, Visit } from "../src/process/process-table.ts";

/** A process that exists only in a test. */
export interface ScriptedProcess {
  readonly pid: number;
  readonly parent?: number;
  readonly group?: number;
  readonly started?: number;
  readonly marks?: Partial<Mark>;
  /** What becomes of it when it gets a signal; by default it dies. */
  readonly on?: (signal: NodeJS.Signals, table: ScriptedTable) => "dies" | "lives" | "is not ours";
}

/** A process table of which a test decides everything. */
export class ScriptedTable implements ProcessTable {
  readonly visibility = "marks";
  readonly signals: string[] = [];
  readonly #processes = new Map<number, ScriptedProcess>();

  constructor(processes: readonly ScriptedProcess[]) {
    for (const one of processes) this.start(one);
  }

  /** Puts a process into the table. */
  start(one: ScriptedProcess): void {
    this.#processes.set(one.pid, one);
  }

  /** The pids of those alive. */
  get alive(): number[] {
    return [...this.#processes.keys()];
  }

  async scan(visit: Visit): Promise<void> {
    for (const one of this.#processes.values()) await visit(entryOf(one));
  }

  async find(pid: number): Promise<ProcessEntry | undefined> {
    const one = this.#processes.get(pid);
    return one && entryOf(one);
  }

  signal(pid: number, signal: NodeJS.Signals): boolean {
    const meant = [...this.#processes.values()].filter((one) =>
      pid < 0 ? (one.group ?? one.pid) === -pid : one.pid === pid,
    );
    this.signals.push(`${signal} ${pid}`);
    let sent = false;
    for (const one of meant) {
      const outcome = one.on?.(signal, this) ?? "dies";
      if (outcome === "dies") this.#processes.delete(one.pid);
      sent ||= outcome !== "is not ours";
    }
    return sent;
  }
}

function entryOf(one: ScriptedProcess): ProcessEntry {
  return {
    pid: one.pid,
    parent: one.parent ?? 1,
    group: one.group ?? one.pid,
    terminal: 0,
    started: one.started ?? 100,
    command: () => `process ${one.pid}`,
    marks: () => one.marks ?? {},
  };
}
