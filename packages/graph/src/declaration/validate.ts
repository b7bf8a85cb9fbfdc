import { MOST_ACTIONS } from "./grammar.ts";
import type { Graph, GraphAction } from "./graph.ts";
import { ProtocolError } from "./protocol-error.ts";

/**
 * A graph that can run to its end; throws a {@link ProtocolError} for one that cannot. Its actions may depend on each
 * other, and on actions that the run has already.
 */
export function validateGraph(graph: Graph, path: string, others: ReadonlySet<string> = new Set()): Graph {
  const { actions, budget } = graph;
  if (actions.length > MOST_ACTIONS)
    throw new ProtocolError("budget", `at most ${MOST_ACTIONS} actions`, { path });
  const known = new Set<string>();
  for (const [index, { id }] of actions.entries()) {
    if (known.has(id))
      throw new ProtocolError("graph", `two actions have the id ${JSON.stringify(id)}`, {
        path: `${path}.${index}.id`,
      });
    known.add(id);
  }
  for (const id of others) known.add(id);
  for (const [index, action] of actions.entries())
    for (const other of before(action)) {
      const at = { path: `${path}.${index}` };
      if (other === action.id) throw new ProtocolError("graph", `${other} waits for itself`, at);
      if (!known.has(other))
        throw new ProtocolError("graph", `there is no action ${JSON.stringify(other)}`, at);
    }
  const ordered = inOrder(actions);
  if (ordered.length < actions.length) {
    const done = new Set(ordered);
    const stuck = actions.filter((action) => !done.has(action)).map(({ id }) => id);
    const shown = stuck.slice(0, 10).join(", ");
    throw new ProtocolError("graph", `actions wait for each other in a circle: ${shown}`, { path });
  }
  assertPossible(ordered, path);
  const certain = actions.filter(({ when }) => when.length === 0).length;
  if (budget.calls !== undefined && certain > budget.calls)
    throw new ProtocolError(
      "budget",
      `${certain} actions run in any case, and the budget is ${budget.calls} calls`,
      { path: "budget.calls" },
    );
  return graph;
}

/** The actions that one waits for. */
function before({ dependsOn, when }: GraphAction): string[] {
  return [...dependsOn, ...when.map(({ action }) => action)];
}

/** The actions, each behind those that it waits for; without those that wait for each other. */
function inOrder(actions: readonly GraphAction[]): GraphAction[] {
  const byId = new Map(actions.map((action) => [action.id, action]));
  const waitsFor = new Map<string, number>();
  const followers = new Map<string, GraphAction[]>();
  for (const action of actions) {
    const others = new Set(before(action).filter((other) => byId.has(other)));
    waitsFor.set(action.id, others.size);
    for (const other of others) {
      const behind = followers.get(other) ?? [];
      behind.push(action);
      followers.set(other, behind);
    }
  }
  const ordered = actions.filter(({ id }) => waitsFor.get(id) === 0);
  // The list grows while it is walked.
  for (const { id } of ordered)
    for (const follower of followers.get(id) ?? []) {
      const left = (waitsFor.get(follower.id) ?? 0) - 1;
      waitsFor.set(follower.id, left);
      if (left === 0) ordered.push(follower);
    }
  return ordered;
}

/** Refuses an action that can never run: its conditions, and those of what it waits for, exclude each other. */
function assertPossible(ordered: readonly GraphAction[], path: string): void {
  /** How other actions have to end for an action to run. */
  const needs = new Map<string, ReadonlyMap<string, string>>();
  for (const { id, dependsOn, when } of ordered) {
    const own = new Map<string, string>();
    // What was canceled need not have run.
    const ran = when.filter(({ status }) => status !== "canceled").map(({ action }) => action);
    const conditional = new Set(when.map(({ action }) => action));
    const inherited = [...ran, ...dependsOn.filter((other) => !conditional.has(other))];
    const all = [
      ...when.map(({ action, status }) => [action, status] as const),
      ...inherited.flatMap((other) => [...(needs.get(other) ?? [])]),
    ];
    for (const [action, status] of all) {
      const other = own.get(action) ?? status;
      if (other !== status)
        throw new ProtocolError(
          "graph",
          `${id} needs ${action} to end both ${other} and ${status}; the condition never holds`,
          { path },
        );
      own.set(action, status);
    }
    needs.set(id, own);
  }
}
