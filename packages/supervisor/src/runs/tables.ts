import type { RunLifecycleEvent, RunStatus, TaskListEvent, VerificationEvent } from "@reins/ahp";
import type { Tables } from "@reins/store";

/** The three contracts of which each run has a current state. */
export type RunContract = "run_lifecycle" | "task_list" | "verification";

/** The current state of one contract of a run. */
export interface RunState {
  readonly tenant: string;
  readonly run_id: string;
  readonly contract: RunContract;
  readonly session_id: string;
  readonly updated_at: string;
  readonly payload: unknown;
  /** Whose run it is: the principal that first reported it, and the user it acts for. */
  readonly principal: string | null;
  readonly user: string | null;
}

/** Whose runs: those of a principal, and those of a user, whichever principal acts for them. */
export interface RunOwner {
  readonly principal: string;
  readonly user?: string | undefined;
}

/** One transition of a run as it arrived, or one that was refused. */
export interface RunEvent extends Omit<RunState, "updated_at"> {
  /** Its number; later ones are higher. */
  readonly seq: number;
  /** When it arrived. */
  readonly at: string;
  /** Why it was refused, if it was. */
  readonly fault: string | null;
}

/** A state that was reported, when it arrived, and why it was refused, if it was. */
export interface RunNote extends Pick<RunEvent, "at" | "fault"> {
  readonly state: RunState;
}

/** What runs change in the store. */
export type RunChanges = {
  /** Adds events, and replaces the states of those without a fault; of each run only so many of the newest events are kept. */
  note(args: { notes: readonly RunNote[]; most: number }): undefined;
  /** Drops some events that arrived before an instant, and the runs that have none left; returns how many events. */
  prune(args: { before: string; limit: number }): number;
};

/** Which states, the newest first. */
export interface RunRange {
  readonly tenant: string;
  readonly session_id?: string | undefined;
  /** Everybody's without one. */
  readonly owner?: RunOwner | undefined;
  readonly limit: number;
}

/** Which events, the oldest first. */
export interface RunEventRange {
  readonly tenant: string;
  readonly run_id?: string | undefined;
  readonly session_id?: string | undefined;
  /** Everybody's without one. */
  readonly owner?: RunOwner | undefined;
  readonly after: number;
  readonly limit: number;
}

/** What runs read from it. */
export type RunQueries = {
  find(args: { tenant: string; run_id: string }): RunState[];
  list(args: RunRange): RunState[];
  /** The lifecycles of runs that have not come to an end, by id. */
  unfinished(args: { tenant: string; after: string; limit: number }): RunState[];
  events(args: RunEventRange): RunEvent[];
  /** The number of the newest event of all; 0 before the first. */
  lastEvent(args: null): number;
};

/** The current state of every run, and every event that led to it. */
export const runTables: Tables<RunChanges, RunQueries> = {
  name: "runs",
  module: new URL("./module.ts", import.meta.url),
};

const NEXT: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  created: ["planning", "executing", "failed", "cancelled"],
  planning: ["executing", "failed", "cancelled"],
  executing: ["planning", "verifying", "completed", "failed", "cancelled"],
  verifying: ["executing", "completed", "failed", "cancelled"],
  completed: [],
  failed: [],
  cancelled: [],
};

/** Why a run cannot go on as it says, if so. The same state again is news of the same state. */
export function lifecycleFault(
  before: RunLifecycleEvent | undefined,
  now: RunLifecycleEvent,
): string | undefined {
  // The first report of a run is a snapshot: its sender may have started to report late.
  if (!before) return undefined;
  if (before.session_id !== now.session_id) return `the run ${now.run_id} belongs to another session`;
  if (isEarlier(now.updated_at, before.updated_at)) return "it is older than what is known";
  if (now.status === before.status || NEXT[before.status].includes(now.status)) return undefined;
  return `a run that is ${before.status} does not become ${now.status}`;
}

/** Why a list of tasks is none, if so. */
export function taskListFault(before: TaskListEvent | undefined, now: TaskListEvent): string | undefined {
  if (before && isEarlier(now.updated_at, before.updated_at)) return "it is older than what is known";
  const dependsOn = new Map(now.tasks.map(({ id, depends_on }) => [id, depends_on]));
  if (dependsOn.size < now.tasks.length) return "two tasks have the same id";
  for (const [id, others] of dependsOn) {
    const missing = others.find((other) => !dependsOn.has(other));
    if (missing !== undefined) return `task ${id} depends on ${missing}, which is not there`;
  }
  return hasCycle(dependsOn) ? "tasks depend on each other in a circle" : undefined;
}

/** Why a verification is none, if so. */
export function verificationFault(
  before: VerificationEvent | undefined,
  now: VerificationEvent,
): string | undefined {
  if (before && isEarlier(now.updated_at, before.updated_at)) return "it is older than what is known";
  const ids = new Set(now.checks.map(({ id }) => id));
  return ids.size < now.checks.length ? "two checks have the same id" : undefined;
}

function isEarlier(now: string, before: string): boolean {
  return Date.parse(now) < Date.parse(before);
}

/** Takes out what waits for nothing that is left, until nothing is; in a circle, everything waits. */
function hasCycle(dependsOn: ReadonlyMap<string, readonly string[]>): boolean {
  const waitFor = new Map<string, string[]>();
  const open = new Map<string, number>();
  for (const [id, others] of dependsOn) {
    open.set(id, others.length);
    for (const other of others) {
      const waiting = waitFor.get(other) ?? [];
      waiting.push(id);
      waitFor.set(other, waiting);
    }
  }
  const done = [...open].filter(([, left]) => left === 0).map(([id]) => id);
  // The list grows while it is gone through.
  for (const id of done)
    for (const waiting of waitFor.get(id) ?? []) {
      const left = (open.get(waiting) ?? 0) - 1;
      open.set(waiting, left);
      if (left === 0) done.push(waiting);
    }
  return done.length < dependsOn.size;
}
