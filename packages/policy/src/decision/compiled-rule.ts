import { compileCondition } from "../conditions/compile.ts";
import type { Clause } from "../conditions/effect-clauses.ts";
import type { DecisionInput } from "../conditions/input.ts";
import { plainNames } from "../conditions/pattern.ts";
import type { Rule } from "../constitution/constitution.ts";
import type { ToolDeclarations } from "../constitution/tool-declarations.ts";
import { type PathTrigger, pathTriggerOf } from "./path-trigger.ts";

/** A rule made ready. */
export interface CompiledRule {
  readonly index: number;
  readonly rule: Rule;
  readonly clauses: readonly Clause[];
  readonly matches: (input: DecisionInput) => boolean;
  /** The tools it can be about; `undefined` means any. */
  readonly tools: readonly string[] | undefined;
  /** The folders it waits for, if it does. */
  readonly trigger: PathTrigger | undefined;
}

/** Makes a rule ready. */
export function compileRule(
  rule: Rule,
  index: number,
  tools: ToolDeclarations,
  keyOf: (sequence: object) => string,
): CompiledRule {
  const clauses = compileCondition(rule.condition, { tools, permits: permits(rule) }, keyOf);
  const names = rule.condition.tool_name_matches;
  return {
    index,
    rule,
    clauses,
    matches: conjunction(clauses),
    tools: names && plainNames(names),
    trigger: pathTriggerOf(rule),
  };
}

/** Whether a rule allows an action as it is. A modified action is decided again, so `modify` does not count. */
export function permits({ verdict }: Pick<Rule, "verdict">): boolean {
  return verdict === "allowed";
}

/** All clauses in one function; the usual few are written out, which spares a loop on every rule. */
function conjunction(clauses: readonly Clause[]): (input: DecisionInput) => boolean {
  const [first, second, third, ...more] = clauses.map(({ holds }) => holds);
  if (!first) return () => true;
  if (!second) return first;
  if (!third) return (input) => first(input) && second(input);
  if (more.length === 0) return (input) => first(input) && second(input) && third(input);
  return (input) => first(input) && second(input) && third(input) && more.every((holds) => holds(input));
}
