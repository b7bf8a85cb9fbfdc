import type { PlainCondition } from "../constitution/condition.ts";
import type { Effect, EffectKind } from "../effect.ts";
import { isHarmlessEffect } from "../facts/harmless.ts";
import type { Clause } from "./effect-clauses.ts";
import type { DecisionInput } from "./input.ts";

/** Which effects a condition names with `every`. */
export interface Naming {
  /** Whether it is about effects at all, with `every` or `any`. */
  readonly isAboutEffects: boolean;
  /** The kinds that one of its members asks something of, each of all effects of the kind. */
  readonly kinds: ReadonlySet<EffectKind>;
  /** Whether running programs is named as a kind, so that whatever they do is. */
  readonly anyProgram: boolean;
}

/** What a condition names, without what its `any_of` and `not` say. */
export function namingOf({ effects, paths, reads, writes, commands, hosts }: PlainCondition): Naming {
  const members = [effects, paths, reads, writes, commands, hosts];
  const kinds = new Set<EffectKind>(effects?.every ?? []);
  const anyProgram = kinds.has("exec");
  if (paths?.every || reads?.every) kinds.add("read");
  if (paths?.every || writes?.every) kinds.add("write");
  if (commands?.every !== undefined) kinds.add("exec");
  if (hosts?.every !== undefined) kinds.add("net");
  const isAboutEffects = members.some((member) => member?.every !== undefined || member?.any !== undefined);
  return { isAboutEffects, kinds, anyProgram };
}

/** What two conditions that must both hold name together. */
export function bothNamings(one: Naming, other: Naming): Naming {
  return {
    isAboutEffects: one.isAboutEffects || other.isAboutEffects,
    kinds: one.kinds.union(other.kinds),
    anyProgram: one.anyProgram || other.anyProgram,
  };
}

/**
 * Holds if every effect of an action is named, or harmless by itself. A rule that allows by effects tests this too: its
 * clause about hosts must not allow a deletion in the same action.
 */
export function namedClause(naming: Naming): Clause {
  return { name: "unnamed_effects", holds: (input) => isNamed(input, naming) };
}

function isNamed({ action }: DecisionInput, { kinds, anyProgram }: Naming): boolean {
  const isOpen = (effect: Effect) => kinds.has(effect.kind) || isHarmlessEffect(effect);
  if (!action.effects.every(isOpen)) return false;
  if (anyProgram) return true;
  // Programs that are named by their words account for their own doubts, but for no others.
  if (kinds.has("exec")) return action.unaccounted !== true;
  return !action.opaque && action.doubts.length === 0;
}
