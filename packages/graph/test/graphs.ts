import { readDeclared } from "../src/declaration/carrier.ts";
import type { ProtocolDeclaration } from "../src/declaration/grammar.ts";
import { type Graph, graphOfDeclaration } from "../src/declaration/graph.ts";
import type { ActionState } from "../src/run/progress.ts";

/** The graph of some actions in a declaration of the full form. */
export function graphOf(actions: readonly object[], envelope: object = {}): Graph {
  const declared = readDeclared({
    ...{ type: "agent.protocol", version: "1", intent: "execute", payload: { actions } },
    ...envelope,
  });
  return graphOfDeclaration(declared as Extract<ProtocolDeclaration, { intent: "execute" }>, []);
}

/** States of actions, by what differs from a completed one. */
export function statesOf(
  states: Readonly<Record<string, Partial<ActionState>>>,
): ReadonlyMap<string, ActionState> {
  return new Map(
    Object.entries(states).map(([id, state]) => [
      id,
      { id, status: "completed", attempts: 1, iterations: 1, ...state },
    ]),
  );
}
