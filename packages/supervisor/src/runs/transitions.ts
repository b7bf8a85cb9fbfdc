import type { RunLifecycleEvent, RunStatus, TaskListEvent, VerificationEvent } from "@reins/ahp";

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
