import type { Graph, GraphAction } from "./graph.ts";
import { ProtocolError } from "./protocol-error.ts";

/** Whether two lists of written resources have one in common: equal, one within the other, or the whole workspace. */
export function writesConflict(one: readonly string[], two: readonly string[]): boolean {
  return one.some((first) => two.some((second) => overlap(first, second)));
}

function overlap(one: string, two: string): boolean {
  return one === "*" || two === "*" || one === two || two.startsWith(`${one}/`) || one.startsWith(`${two}/`);
}

/**
 * Refuses a graph with the policy `conflict_resolution: refuse` in which two actions would write the same resource and
 * neither waits for the other. With the default they run one after the other.
 */
export function assertNoConflict(
  { actions, onConflict }: Graph,
  writesOf: (action: GraphAction) => readonly string[],
): void {
  if (onConflict === "serialize") return;
  const before = ancestors(actions);
  const writing = actions
    .map((action) => ({ id: action.id, writes: writesOf(action) }))
    .filter(({ writes }) => writes.length > 0);
  for (const [index, one] of writing.entries())
    for (const two of writing.slice(index + 1)) {
      const isOrdered = before.get(one.id)?.has(two.id) || before.get(two.id)?.has(one.id);
      if (!isOrdered && writesConflict(one.writes, two.writes))
        throw new ProtocolError(
          "graph",
          `${one.id} and ${two.id} would write the same resource, and neither depends on the other`,
          { path: "conflict_resolution" },
        );
    }
}

/** All actions that each one waits for, directly or not. The actions have no cycle. */
function ancestors(actions: readonly GraphAction[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byId = new Map(actions.map((action) => [action.id, action]));
  const known = new Map<string, Set<string>>();
  const open = [...byId.keys()];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (known.has(id)) continue;
    const { dependsOn = [], when = [] } = byId.get(id) ?? {};
    const direct = [...dependsOn, ...when.map(({ action }) => action)];
    const missing = direct.filter((other) => byId.has(other) && !known.has(other));
    if (missing.length > 0) open.push(id, ...missing);
    else known.set(id, new Set([...direct, ...direct.flatMap((other) => [...(known.get(other) ?? [])])]));
  }
  return known;
}
