import { isAbsolute, relative, sep } from "node:path";
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

/** Why an action writes what its task does not declare. The paths are real ones. */
export function beyondDeclared(mayWrite: readonly string[], { effects }: Action): string | undefined {
  const other = effects.find(
    (effect) => effect.kind === "write" && !mayWrite.some((path) => holds(path, effect.path)),
  );
  if (other?.kind !== "write") return undefined;
  return `the declaration of the task writes ${mayWrite.join(", ") || "nothing"}, and not ${other.path}`;
}

/** Why a person has to decide about an action of a task that declares what it writes, where that cannot be seen. */
export function unseenWrite({ effects, opaque }: Pick<Action, "effects" | "opaque">): string | undefined {
  if (!opaque && !effects.some((effect) => effect.kind === "exec" && effect.opaque)) return undefined;
  return "the task declares what it writes, and this may write more than can be seen";
}

/** What two lists of files and folders have in common; `undefined` stands for everything. */
export function commonWrites(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!one || !other) return one ?? other;
  const within = (some: readonly string[], all: readonly string[]) =>
    some.filter((path) => all.some((folder) => holds(folder, path)));
  return [...new Set([...within(one, other), ...within(other, one)])];
}

function holds(folder: string, path: string): boolean {
  const below = relative(folder, path);
  return below !== ".." && !below.startsWith(`..${sep}`) && !isAbsolute(below);
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
