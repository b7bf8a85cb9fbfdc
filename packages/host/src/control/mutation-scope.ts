import { isAbsolute, relative } from "node:path";
import type { DecisionInput } from "@reins/supervisor";

/** How far a session may change things, from the strictest. */
const SCOPES = ["none", "read_only", "apply_worktree", "apply_workspace"] as const;

/**
 * How far a session may change things, whatever rules allow beyond that: nothing at all (`none`), reading only
 * (`read_only`), its own worktree (`apply_worktree`) or its workspace (`apply_workspace`).
 */
export type MutationScope = (typeof SCOPES)[number];

/** The scope that a client or a record names; an unknown one is treated as `read_only`, also one that is no text. */
export function mutationScopeIn(named: unknown): MutationScope | undefined {
  if (named === undefined || named === null) return undefined;
  return SCOPES.find((scope) => scope === named) ?? "read_only";
}

/** The stricter of two scopes; without any, nothing is restricted. */
export function stricterScope(
  one: MutationScope | undefined,
  other: MutationScope | undefined,
): MutationScope | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return SCOPES.indexOf(one) <= SCOPES.indexOf(other) ? one : other;
}

type Action = DecisionInput["action"];

/** Why an action of an agent exceeds the scope of its session. `worktree` is the real folder that the session works in. */
export function beyondScope(scope: MutationScope, action: Action, worktree: string): string | undefined {
  const { effects, opaque } = action;
  switch (scope) {
    case "none":
      return effects.length > 0 || opaque ? refusal(scope, "nothing has an effect") : undefined;
    case "read_only":
      return opaque || effects.some(mayChange) ? refusal(scope, "nothing is changed") : undefined;
    case "apply_worktree":
    case "apply_workspace": {
      const outside = effects.find((effect) => effect.kind === "write" && !isWithin(scope, effect, worktree));
      if (outside?.kind !== "write") return undefined;
      return refusal(scope, `${outside.path} lies outside of it`);
    }
  }
}

/**
 * Why a person has to decide about an action in a session that may change only its folders: what it changes cannot be seen,
 * and the operating system does not keep it there. A sandbox keeps it in all folders of the session.
 */
export function unseenChange(
  scope: MutationScope,
  { effects, opaque }: Pick<Action, "effects" | "opaque">,
  confinedTo: readonly string[] | undefined,
): string | undefined {
  if (scope !== "apply_worktree" && scope !== "apply_workspace") return undefined;
  const isSeen = !opaque && !effects.some((effect) => effect.kind === "exec" && effect.opaque);
  if (isSeen || (confinedTo && (scope === "apply_workspace" || confinedTo.length === 1))) return undefined;
  return refusal(scope, "it may change more than can be seen from here");
}

function refusal(scope: MutationScope, why: string): string {
  return `the mutation scope of the session is ${scope}: ${why}`;
}

type Effect = Action["effects"][number];

/**
 * Whether an effect may change something, here or elsewhere: what a host does with a request cannot be seen, so only one
 * that is known to look passes. A program whose effects are known has others that say what it changes.
 */
function mayChange(effect: Effect): boolean {
  switch (effect.kind) {
    case "read":
      return false;
    case "write":
      return true;
    case "exec":
      return effect.opaque;
    case "net":
      return effect.looks !== true;
  }
}

function isWithin(
  scope: MutationScope,
  { path, place }: Extract<Effect, { kind: "write" }>,
  worktree: string,
): boolean {
  if (scope === "apply_workspace") return place === "workspace" || place === "temporary";
  const below = relative(worktree, path);
  return place !== "unknown" && !below.startsWith("..") && !isAbsolute(below);
}
