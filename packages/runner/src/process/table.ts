import type { Mark } from "./mark.ts";

/** A process that is alive. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** When it started, in units of the table. With the pid, this names a process for good. */
  readonly started: number;
  /** Its command line, shortened. */
  command(): string;
  /** What it carries of our marks. */
  marks(): Partial<Mark>;
}

/**
 * How far a table sees. `marks`: whoever carries a mark, wherever it went; only a program that sets out to lose both
 * halves of its mark, or has another program start something for it, is missed. `group`: only the process group and
 * the children of its members.
 */
export type TableSight = "marks" | "group";

/** The machine's processes. */
export interface ProcessTable {
  readonly sight: TableSight;
  /** Every live process, those that appear meanwhile included; a process that has died but was not reaped is none. */
  scan(): AsyncIterable<ProcessEntry>;
  /** The process of that pid, if it is alive. */
  find(pid: number): Promise<ProcessEntry | undefined>;
  /** Sends a signal to a process, or with a negative pid to a group. False if there is none, or it is not ours to send. */
  signal(pid: number, signal: NodeJS.Signals): boolean;
}

/** Sends a signal as {@link ProcessTable.signal} does. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  // To the kernel these mean ourselves, everybody, and the one process that must not die.
  if (!Number.isSafeInteger(pid) || Math.abs(pid) <= 1)
    throw new RangeError(`There is no process ${pid} to signal.`);
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ESRCH" || error.code === "EPERM"))
      return false;
    throw error;
  }
}
