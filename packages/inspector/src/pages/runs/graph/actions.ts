import type { RunAction, RunGraph } from "@reins/api";
import { duration } from "../../../design/format.ts";
import { formatAge } from "../../../design/moment.tsx";

type Status = RunAction["status"];

const OVER: ReadonlySet<Status> = new Set(["completed", "failed", "canceled"]);
const CANCELABLE: ReadonlySet<Status> = new Set(["pending", "running", "waiting"]);
const DECIDABLE: ReadonlySet<Status> = new Set(["failed", "blocked"]);
const NEEDS_ATTENTION: ReadonlySet<Status> = new Set(["failed", "blocked", "waiting"]);

/** Whether a person should look at an action, even one that the declaration hides. */
export function needsAttention({ status }: Pick<RunAction, "status">): boolean {
  return NEEDS_ATTENTION.has(status);
}

/** Whether there is anything left to cancel: of a run, or of one of its actions. */
export function canCancel(graph: RunGraph, action?: RunAction): boolean {
  const isOver = graph.ended_at !== undefined || OVER.has(graph.status);
  return !graph.plan && !isOver && (!action || CANCELABLE.has(action.status));
}

/** Whether a person may decide about an action. An approval or a question is answered in its own place. */
export function canDecide({ status, waits_for, plan }: RunGraph, action: RunAction): boolean {
  const isForPeople = waits_for === "permission" || waits_for === "input";
  return !plan && DECIDABLE.has(status) && !isForPeople && DECIDABLE.has(action.status);
}

/** Actions in an order in which they can run: each after its dependencies, otherwise as declared. */
export function inRunOrder(actions: readonly RunAction[]): readonly RunAction[] {
  const byId = new Map(actions.map((action) => [action.id, action]));
  const visited = new Set<string>();
  const ordered: RunAction[] = [];
  for (const first of actions) {
    // A stack of our own: a chain of a thousand actions must not overflow the call stack.
    const stack: { readonly action: RunAction; next: number }[] = [];
    const visit = (action: RunAction | undefined) => {
      if (!action || visited.has(action.id)) return;
      visited.add(action.id);
      stack.push({ action, next: 0 });
    };
    visit(first);
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const dependency = top.action.depends_on[top.next];
      top.next += 1;
      if (dependency !== undefined) visit(byId.get(dependency));
      else ordered.push(...stack.splice(-1).map(({ action }) => action));
    }
  }
  return ordered;
}

/** The actions that directly or indirectly depend on one and have not begun. */
export function pendingDependents(actions: readonly RunAction[], id: string): readonly RunAction[] {
  const reached = new Set([id]);
  return inRunOrder(actions).filter((action) => {
    if (!action.depends_on.some((dependency) => reached.has(dependency))) return false;
    reached.add(action.id);
    return action.status === "pending";
  });
}

/** What changed between two states of a run, in words that stay true when it changes again. */
export function outcomeText(before: RunGraph, after: RunGraph): string {
  const was = new Map(before.actions.map(({ id, status }) => [id, status]));
  const changed = Map.groupBy(
    after.actions.filter(({ id, status }) => was.get(id) !== status),
    ({ status }) => status,
  );
  const run =
    before.status === after.status ? `The run stayed ${after.status}` : `The run became ${after.status}`;
  const counts = [...changed].map(([status, { length }]) =>
    length === 1 ? `1 action became ${status}` : `${length} actions became ${status}`,
  );
  return `${[run, ...counts].join("; ")}.`;
}

/** How far a run is: how many of its actions ended, and how many are under way. */
export function progressText({ progress: { total, ended, running } }: RunGraph): string {
  const text = `${ended} of ${total} ${total === 1 ? "action" : "actions"} ended`;
  return running > 0 ? `${text}, ${running} under way` : text;
}

/** How long an action or a run took, or has taken so far; nothing before its start. */
export function timeTaken(
  { started_at, ended_at }: Pick<RunAction, "started_at" | "ended_at">,
  now: number,
): string | undefined {
  if (started_at === undefined) return undefined;
  const end = ended_at === undefined ? now : Date.parse(ended_at);
  const milliseconds = Math.max(0, end - Date.parse(started_at));
  return ended_at === undefined ? formatAge(milliseconds) : duration(milliseconds);
}

/** The repetitions of an action; nothing for one that ran once or not at all. */
export function repetitionText({ attempts, iterations }: RunAction): string {
  return [attempts > 1 ? `attempt ${attempts}` : "", iterations > 1 ? `round ${iterations}` : ""]
    .filter(Boolean)
    .join(", ");
}
