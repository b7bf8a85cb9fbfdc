import { canonicalResource } from "../declaration/conflicts.ts";
import type { ExecutorType } from "../declaration/grammar.ts";
import type { GraphAction } from "../declaration/graph.ts";
import { ProtocolError } from "../declaration/protocol-error.ts";

/** Something that can execute actions. */
export interface Executor {
  readonly name: string;
  readonly type: ExecutorType;
  readonly description: string;
  readonly capabilities: readonly string[];
  /** Whether it may be given work at all; an agent that only answers questions may not. */
  readonly canExecute?: boolean;
  readonly isAvailable?: boolean;
  /** What it costs beside others; less is chosen first. */
  readonly cost?: number;
  /** Whether it changes nothing. */
  readonly isReadOnly?: boolean;
  /** Whether what an action declares to write keeps it from writing anything else in the workspace. */
  readonly bindsWrites?: boolean;
}

/** The registry as a model is shown it. */
export function registryView(executors: readonly Executor[]): { readonly executors: readonly object[] } {
  return {
    executors: executors.map(({ name, type, description, capabilities, canExecute }) => ({
      ...{ name, type, description, capabilities },
      ...(canExecute !== undefined && { can_execute: canExecute }),
    })),
  };
}

/**
 * Chooses who executes an action: the target it names, or the best match of its type and capabilities that is
 * available and that the policy allows; among equals the cheapest, then the first. Throws a {@link ProtocolError} that
 * lists the registry when none fits.
 */
export function chooseExecutor(
  { id, executor: { type, target, capabilities } }: Pick<GraphAction, "id" | "executor">,
  registry: readonly Executor[],
  mayUse: (executor: Executor) => boolean = () => true,
): Executor {
  const able = registry.filter(
    (one) =>
      one.canExecute !== false && one.isAvailable !== false && (type === undefined || one.type === type),
  );
  const named = target === "auto" ? able : able.filter(({ name }) => name === target);
  const matching = named
    .map((executor) => ({ executor, matches: matchesOf(executor, capabilities) }))
    .filter(({ matches }) => target !== "auto" || capabilities.length === 0 || matches > 0)
    .toSorted((one, two) => two.matches - one.matches || (one.executor.cost ?? 0) - (two.executor.cost ?? 0));
  const found = matching.find(({ executor }) => mayUse(executor));
  if (found) return found.executor;
  const wanted = [type ?? "any type", target, ...capabilities].join(", ");
  const why = matching.length > 0 ? "the policy allows none of those that fit" : "no executor fits";
  const listed = registry.map((one) => `${one.name} (${one.type}: ${one.capabilities.join(", ")})`);
  throw new ProtocolError(
    "executor",
    `${why} ${id}, which wants ${wanted}. There are: ${listed.join("; ") || "none"}`,
  );
}

function matchesOf({ capabilities }: Executor, wanted: readonly string[]): number {
  return wanted.filter((one) => capabilities.some((has) => has === one || has.startsWith(`${one}.`))).length;
}

/**
 * What an action writes, in the one spelling of each resource: what it declares where its executor is kept to that, else the
 * whole workspace, unless its executor changes nothing. What a declaration says of side effects is a claim.
 */
export function writesOf(
  { writes }: Pick<GraphAction, "writes">,
  { isReadOnly, bindsWrites }: Executor,
  root?: string,
): readonly string[] {
  if (isReadOnly) return [];
  if (!writes || !bindsWrites) return ["*"];
  return [...new Set(writes.map((resource) => canonicalResource(resource, root)))];
}
