import type { Condition, PlainCondition } from "../constitution/condition.ts";
import type { ToolDeclarations } from "../constitution/tool-declarations.ts";
import { type Clause, effectClauses } from "./effect-clauses.ts";
import { bothNamings, type Naming, namedClause, namingOf } from "./naming.ts";
import { subjectClauses } from "./subject-clauses.ts";
import { timeClause } from "./time-clause.ts";

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
