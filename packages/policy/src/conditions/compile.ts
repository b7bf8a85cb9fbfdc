import type { DecisionInput, Effect, EffectKind } from "../action.ts";
import type { Condition, PlainCondition } from "../constitution/condition.ts";
import type { ToolDeclarations } from "../constitution/constitution.ts";
import { isHarmlessEffect } from "../facts/harmless.ts";
import { type Clause, effectClauses, subjectClauses, timeClause } from "./clauses.ts";

/** What a condition is compiled for. */
interface Purpose {
  readonly tools: ToolDeclarations;
  /**
   * Whether it allows. Then it allows nothing that it does not name: `every` needs at least one effect, and effects that
   * no member is about have to be harmless.
   */
  readonly permits: boolean;
}

/** The purpose of a condition under `not`: in a rule that allows, an exception is as wide as it can be. */
interface InnerPurpose extends Purpose {
  readonly isRulePermitting: boolean;
}

/** Compiles a condition that looks at one action to clauses that must all hold. The cheap ones come first. */
export function compilePlain(condition: PlainCondition, purpose: Purpose): Clause[] {
  return compileWithin(condition, { ...purpose, isRulePermitting: purpose.permits }, NOTHING);
}

const NOTHING: Naming = { isAboutEffects: false, kinds: new Set(), anyProgram: false };

/** @param around what the conditions name that this one stands in */
function compileWithin(condition: PlainCondition, purpose: InnerPurpose, around: Naming): Clause[] {
  const { tools, permits, isRulePermitting } = purpose;
  const clauses = [...subjectClauses(condition, tools, permits), ...effectClauses(condition, permits)];
  if (condition.time) clauses.push(timeClause(condition.time));
  const { any_of, not } = condition;
  const naming = bothNamings(around, namingOf(condition));
  if (any_of) {
    const options = any_of.map((option) => compileWithin(option, purpose, naming));
    clauses.push({
      name: "any_of",
      holds: (input) => options.some((option) => option.every(({ holds }) => holds(input))),
    });
  } else if (permits && naming.isAboutEffects) clauses.push(namedClause(naming));
  if (not) {
    const negated = compileWithin(
      not,
      { tools, isRulePermitting, permits: isRulePermitting && !permits },
      NOTHING,
    );
    clauses.push({ name: "not", holds: (input) => !negated.every(({ holds }) => holds(input)) });
  }
  return clauses;
}

/** Compiles a rule's condition; sequences are looked up in the counters by the keys they were given. */
export function compileCondition(
  condition: Condition,
  purpose: Purpose,
  keyOf: (sequence: object) => string,
): Clause[] {
  const clauses = compilePlain(condition, purpose);
  for (const count of many(condition.count)) {
    const key = keyOf(count);
    clauses.push({ name: "count", holds: ({ counters }) => (counters[key] ?? 0) >= count.at_least });
  }
  for (const after of many(condition.after)) {
    const key = keyOf(after);
    clauses.push({ name: "after", holds: ({ counters }) => (counters[key] ?? 0) > 0 });
  }
  return clauses;
}

/** One or several, as a list. */
export function many<Item>(value: Item | readonly Item[] | undefined): readonly Item[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value as Item];
}

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
function bothNamings(one: Naming, other: Naming): Naming {
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
function namedClause(naming: Naming): Clause {
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
