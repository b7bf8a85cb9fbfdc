import type { Action, DecisionInput } from "../action.ts";
import type { Limit, RuleVerdict } from "../constitution/constitution.ts";
import type { Policy } from "./policy.ts";
import type { PolicyVerdict } from "./verdict.ts";

/** One part of a rule's condition: its name, and what it asks for. */
export interface AskedClause {
  readonly clause: string;
  readonly asked: unknown;
}

/** How one rule fared: the parts of its condition that held, and the ones that did not. */
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

/** Decides on an action, and writes down how that went: goes through the rules as the decision did. */
export function explainedBy(policy: Policy, input: DecisionInput): Explained {
  const rules: ExplainedRule[] = [];
  for (const { rule, clauses } of policy.rulesAbout(input.event_type)) {
    const [held, failed]: [AskedClause[], AskedClause[]] = [[], []];
    for (const { name, holds } of clauses)
      (holds(input) ? held : failed).push({ clause: name, asked: askedBy(rule.condition, name) });
    const matched = failed.length === 0;
    rules.push({ rule: rule.name, verdict: rule.verdict, matched, held, failed });
    if (matched) break;
  }
  return {
    facts: input.action,
    verdict: policy.decide(input),
    rules,
    limits: policy.limits.flatMap(({ limit, applies }) => (applies(input) ? [limit] : [])),
    harnesses: policy.file.harnesses.map(({ name }) => name),
  };
}

/** What is in a condition under the name of a clause, such as `paths.any`. */
function askedBy(condition: object, clause: string): unknown {
  const [first = "", ...rest] = clause.split(".");
  const member: unknown = Reflect.get(condition, first);
  const inner = rest.join(".");
  return inner === "" || typeof member !== "object" || member === null ? member : Reflect.get(member, inner);
}
