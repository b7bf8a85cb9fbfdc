import type { GraphAction } from "./graph.ts";
import { inputReferences, type Reference } from "./reference.ts";

/** Who may see what an action produced. */
export interface Visibility {
  readonly model: boolean;
  readonly user: boolean;
  readonly logs: boolean;
  readonly futureRuns: boolean;
}

/** Shown to all. */
export const VISIBLE: Visibility = { model: true, user: true, logs: true, futureRuns: true };

/** Everything that an action refers to: by its prompt, its context and its input. */
export function referencesOf({
  prompt,
  context,
  input,
}: Pick<GraphAction, "prompt" | "context" | "input">): readonly Reference[] {
  const given = inputReferences(input, "input").map(({ reference }) => reference);
  return [...(prompt ? [prompt] : []), ...context, ...given];
}

/** What a reference leads to: an action of the same run, by its id, or something outside of it. */
export type ReferenceSource = { readonly action: string } | Visibility | undefined;

/**
 * Actions that show no more than what they refer to: what is withheld stays withheld in everything that derives from it,
 * through any number of actions.
 */
export function inheritVisibility(
  actions: readonly GraphAction[],
  sourceOf: (reference: Reference) => ReferenceSource,
): readonly GraphAction[] {
  const byId = new Map(actions.map((action) => [action.id, action]));
  const known = new Map<string, Visibility>();
  const visibilityOf = (action: GraphAction): Visibility => {
    const found = known.get(action.id);
    if (found) return found;
    // What refers to itself inherits nothing by that.
    known.set(action.id, action.visibility);
    const inherited = referencesOf(action).reduce((seen, reference) => {
      const source = sourceOf(reference);
      if (!source) return seen;
      if (!("action" in source)) return narrower(seen, source);
      const other = byId.get(source.action);
      return other ? narrower(seen, visibilityOf(other)) : seen;
    }, action.visibility);
    known.set(action.id, inherited);
    return inherited;
  };
  return actions.map((action) => {
    const visibility = visibilityOf(action);
    return visibility === action.visibility ? action : { ...action, visibility };
  });
}

/** Those that both are shown to. */
function narrower(one: Visibility, two: Visibility): Visibility {
  const isSame = Object.is(one, two) || two === VISIBLE;
  return isSame
    ? one
    : {
        model: one.model && two.model,
        user: one.user && two.user,
        logs: one.logs && two.logs,
        futureRuns: one.futureRuns && two.futureRuns,
      };
}
