import type { Action, DecisionInput, Limit, Policy, PolicyVerdict, Subject } from "@reins/policy";

/** One part of a rule's condition: its name, and what it asks for. */
export interface AskedClause {
  readonly clause: string;
  readonly asked: unknown;
}

/** How one rule fared. */
export interface ExplainedRule {
  readonly rule: string;
  readonly verdict: string;
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
  /** The limits that it counts against, if it is let through. */
  readonly limits: readonly Limit[];
  /** The names of the harnesses that are asked too. */
  readonly harnesses: readonly string[];
}

/** Everything there is to say about an event. */
export interface ExplainReport extends Explained {
  readonly file: string;
  readonly event_type: string;
  readonly subject: Subject;
  readonly cwd: string;
  readonly workspace: readonly string[];
  readonly at: string;
  /** What came before, by the rules that ask for it; null when there is no ledger to know it from. */
  readonly counters: DecisionInput["counters"] | null;
  /** For `modify`: what is decided on what it has become. */
  readonly again: Explained | null;
}

/** Decides on an action, and writes down how that went. */
export function explainedBy(policy: Policy, input: DecisionInput): Explained {
  const { verdict, rules } = policy.explain(input);
  return {
    facts: input.action,
    verdict,
    rules: rules.map(({ matched, held, failed }, index) => {
      const { name, verdict: ruled, condition } = policy.rules[index]?.rule ?? UNKNOWN;
      const asked = (clause: string) => ({ clause, asked: askedBy(condition, clause) });
      return { rule: name, verdict: ruled, matched, held: held.map(asked), failed: failed.map(asked) };
    }),
    limits: policy.limits.flatMap(({ limit, applies }) => (applies(input) ? [limit] : [])),
    harnesses: policy.file.harnesses.map(({ name }) => name),
  };
}

const UNKNOWN = { name: "", verdict: "", condition: {} };

/** What stands in a condition under the name of a clause, such as `paths.any`. */
function askedBy(condition: object, clause: string): unknown {
  const [first = "", ...rest] = clause.split(".");
  const member: unknown = Reflect.get(condition, first);
  const inner = rest.join(".");
  return inner === "" || typeof member !== "object" || member === null ? member : Reflect.get(member, inner);
}
