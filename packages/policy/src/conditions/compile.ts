import type { Condition, PlainCondition } from "../constitution/condition.ts";
import type { ToolDeclarations } from "../constitution/tool-declarations.ts";
import { type Clause, effectClauses } from "./effect-clauses.ts";
import { subjectClauses } from "./subject-clauses.ts";
import { timeClause } from "./time-clause.ts";

/** Compiles a condition that looks at one action to clauses that must all hold. The cheap ones come first. */
export function compilePlain(condition: PlainCondition, tools: ToolDeclarations): Clause[] {
  const clauses = [...subjectClauses(condition, tools), ...effectClauses(condition)];
  if (condition.time) clauses.push(timeClause(condition.time));
  const { any_of, not } = condition;
  if (any_of) {
    const options = any_of.map((option) => compilePlain(option, tools));
    clauses.push({
      name: "any_of",
      holds: (input) => options.some((option) => option.every(({ holds }) => holds(input))),
    });
  }
  if (not) {
    const negated = compilePlain(not, tools);
    clauses.push({ name: "not", holds: (input) => !negated.every(({ holds }) => holds(input)) });
  }
  return clauses;
}

/** Compiles a rule's condition; sequences are looked up in the counters by the keys they were given. */
export function compileCondition(
  condition: Condition,
  tools: ToolDeclarations,
  keyOf: (sequence: object) => string,
): Clause[] {
  const clauses = compilePlain(condition, tools);
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
