import type { Action, DecisionInput } from "../action.ts";
import type { Limit, RuleVerdict } from "../constitution/constitution.ts";
import type { CompiledRule, Policy, PolicyVerdict } from "./policy.ts";

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

/** One part of a rule's condition: its name, and what it asks for. */
export interface AskedClause {
  readonly clause: string;
  readonly asked: unknown;
}

/** How one rule fared. */
export interface ExplainedRule {
  readonly rule: string;
  readonly verdict: RuleVerdict;
  readonly matched: boolean;
  readonly held: readonly AskedClause[];
  readonly failed: readonly AskedClause[];
}

/** An action, and what is decided on it by which rule. */
export interface Explained {
  readonly facts: Action;
  /** Every rule up to the one that matched, in order. */
  readonly rules: readonly ExplainedRule[];
  readonly verdict: PolicyVerdict;
  /** The limits that it counts against, if it is allowed. */
  readonly limits: readonly Limit[];
  /** The names of the harnesses that are asked too. */
  readonly harnesses: readonly string[];
}

/** Decides on an action, and writes down how that went. */
export function explainedBy(policy: Policy, input: DecisionInput): Explained {
  const { verdict, rules } = policy.explain(input);
  return {
    facts: input.action,
    verdict,
    rules: rules.flatMap(({ matched, held, failed }, index) => {
      const rule = policy.rules[index]?.rule;
      if (!rule) return [];
      const asked = (clause: string) => ({ clause, asked: askedBy(rule.condition, clause) });
      return [
        {
          ...{ rule: rule.name, verdict: rule.verdict, matched },
          ...{ held: held.map(asked), failed: failed.map(asked) },
        },
      ];
    }),
    limits: policy.limits.flatMap(({ limit, applies }) => (applies(input) ? [limit] : [])),
    harnesses: policy.file.harnesses.map(({ name }) => name),
  };
}

/** What stands in a condition under the name of a clause, such as `paths.any`. */
function askedBy(condition: object, clause: string): unknown {
  const [first = "", ...rest] = clause.split(".");
  const member: unknown = Reflect.get(condition, first);
  const inner = rest.join(".");
  return inner === "" || typeof member !== "object" || member === null ? member : Reflect.get(member, inner);
}
