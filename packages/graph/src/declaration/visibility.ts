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

/** Those who see what an executor is given. */
export type Viewer = Extract<keyof Visibility, "model" | "user">;

const HANDED_TO: Readonly<Partial<Record<string, readonly Viewer[]>>> = {
  agent: ["model", "user"],
  tool: ["model", "user"],
  human: ["user"],
};

/**
 * Whether what came of an agent's action may be handed to the executor of another: if those who see that see it, and what
 * comes of that is shown to no others.
 */
export function mayHandOver(from: Visibility, to: Visibility, audience: readonly Viewer[]): boolean {
  return audience.length > 0 && audience.every((one) => from[one]) && !isWider(to, from);
}

/** Whether one is shown to any that the other is withheld from. */
export function isWider(one: Visibility, other: Visibility): boolean {
  const { model, user, logs, futureRuns } = other;
  return (
    (one.model && !model) || (one.user && !user) || (one.logs && !logs) || (one.futureRuns && !futureRuns)
  );
}

/** Those who are given what agents before an action hand over, by its declared executor; none where it is no agent's or person's. */
function handedTo({ executor, input, prompt }: GraphAction): readonly Viewer[] {
  // A tool with a prompt alone is a turn of a model.
  if (executor.type === "tool" && (input || !prompt)) return [];
  return HANDED_TO[executor.type ?? ""] ?? [];
}

/** What a reference leads to: an action of the same run, by its id, or something outside of it. */
export type ReferenceSource = { readonly action: string } | Visibility | undefined;

/**
 * Actions that show no more than what they refer to, and what agents before them hand over: what is withheld stays withheld in everything that derives from it,
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
    const referred = referencesOf(action).reduce((seen, reference) => {
      const source = sourceOf(reference);
      if (!source) return seen;
      if (!("action" in source)) return narrower(seen, source);
      const other = byId.get(source.action);
      return other ? narrower(seen, visibilityOf(other)) : seen;
    }, action.visibility);
    const audience = handedTo(action);
    const inherited = action.dependsOn.reduce((seen, id) => {
      const other = byId.get(id);
      const from = audience.length > 0 && other?.executor.type === "agent" && visibilityOf(other);
      // What is not handed over is not inherited.
      return from && audience.every((one) => from[one]) ? narrower(seen, from) : seen;
    }, referred);
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
