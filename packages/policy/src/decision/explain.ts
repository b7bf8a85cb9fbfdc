import type { DecisionInput } from "../conditions/input.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { PolicyVerdict } from "./verdict.ts";

/** How one rule fared. */
export interface RuleOutcome {
  readonly rule: string;
  readonly matched: boolean;
  /** The parts of its condition that held, and the ones that did not. */
  readonly held: readonly string[];
  readonly failed: readonly string[];
}

/** Why a verdict is what it is. */
export interface Explanation {
  readonly verdict: PolicyVerdict;
  /** Every rule up to the one that matched, in order. */
  readonly rules: readonly RuleOutcome[];
}

/** Goes through the rules as the decision did, and writes down what it saw. */
export function explain(
  input: DecisionInput,
  rules: readonly CompiledRule[],
  verdict: PolicyVerdict,
): Explanation {
  const outcomes: RuleOutcome[] = [];
  for (const { rule, clauses } of rules) {
    const [held, failed]: [string[], string[]] = [[], []];
    for (const clause of clauses) (clause.holds(input) ? held : failed).push(clause.name);
    outcomes.push({ rule: rule.name, matched: failed.length === 0, held, failed });
    if (failed.length === 0) break;
  }
  return { verdict, rules: outcomes };
}
