import { type GraphCondition, MOST_ACTIONS } from "./grammar.ts";
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
    for (const other of waitsFor(action)) {
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
export function waitsFor({ dependsOn, when }: GraphAction): string[] {
  return [...dependsOn, ...when.map(({ action }) => action)];
}

/** The actions, each behind those that it waits for; without those that wait for each other. */
export function inOrder(actions: readonly GraphAction[]): GraphAction[] {
  const byId = new Map(actions.map((action) => [action.id, action]));
  const waiting = new Map<string, number>();
  const followers = new Map<string, GraphAction[]>();
  for (const action of actions) {
    const others = new Set(waitsFor(action).filter((other) => byId.has(other)));
    waiting.set(action.id, others.size);
    for (const other of others) {
      const behind = followers.get(other) ?? [];
      behind.push(action);
      followers.set(other, behind);
    }
  }
  const ordered = actions.filter(({ id }) => waiting.get(id) === 0);
  // The list grows while it is walked.
  for (const { id } of ordered)
    for (const follower of followers.get(id) ?? []) {
      const left = (waiting.get(follower.id) ?? 0) - 1;
      waiting.set(follower.id, left);
      if (left === 0) ordered.push(follower);
    }
  return ordered;
}

/** Refuses an action that can never run: its conditions, and those of what it waits for, exclude each other. */
function assertPossible(ordered: readonly GraphAction[], path: string): void {
  const named = [...new Set(ordered.flatMap(({ when }) => when.map(({ action }) => action)))];
  if (named.length === 0) return;
  const positions = new Map(named.map((action, index) => [action, index * ENDS.length]));
  const needOf = ({ action, status }: GraphCondition) => (positions.get(action) ?? 0) + ENDS.indexOf(status);
  /** How other actions have to end for an action to run. */
  const needs = new Map<string, BitSet>();
  for (const { id, dependsOn, when } of ordered) {
    const all = new BitSet(named.length * ENDS.length);
    for (const condition of when) all.add(needOf(condition));
    // What was canceled need not have run.
    const ran = when.filter(({ status }) => status !== "canceled").map(({ action }) => action);
    const conditional = new Set(when.map(({ action }) => action));
    const inherited = [...ran, ...dependsOn.filter((other) => !conditional.has(other))];
    for (const other of new Set(inherited)) {
      const above = needs.get(other);
      if (above) all.addAll(above);
    }
    for (const action of named) {
      const [one, other] = ENDS.filter((status) => all.has(needOf({ action, status })));
      if (other !== undefined)
        throw new ProtocolError(
          "graph",
          `${id} needs ${action} to end both ${one} and ${other}; the condition never holds`,
          { path },
        );
    }
    needs.set(id, all);
  }
}

const ENDS: readonly GraphCondition["status"][] = ["completed", "failed", "canceled", "blocked"];

/** A set of small numbers: with others of its size it is joined by words, so that large graphs are checked quickly. */
export class BitSet {
  readonly #words: Uint32Array;

  constructor(size: number) {
    this.#words = new Uint32Array(Math.ceil(size / 32));
  }

  add(number: number): void {
    this.#words[number >>> 5] = (this.#words[number >>> 5] ?? 0) | (1 << (number & 31));
  }

  /** Adds all of a set of the same size. */
  addAll(other: BitSet): void {
    for (let index = 0; index < this.#words.length; index += 1)
      this.#words[index] = (this.#words[index] ?? 0) | (other.#words[index] ?? 0);
  }

  has(number: number): boolean {
    return ((this.#words[number >>> 5] ?? 0) & (1 << (number & 31))) !== 0;
  }
}
