import type { Action, DecisionInput } from "../action.ts";
import { type Clause, compileCondition } from "../conditions/conditions.ts";
import { plainNames } from "../conditions/pattern.ts";
import { milliseconds } from "../constitution/condition.ts";
import type { Limit, Rule, RuleVerdict, ToolDeclarations } from "../constitution/constitution.ts";
import type { Policy } from "./policy.ts";
import type { PolicyHashes, PolicyVerdict } from "./verdict.ts";

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

/** The folders under one of which a path must lie for a rule to match, each as its segments. */
type PathTrigger = readonly (readonly string[])[];

const GLOB = /[*?[\]{}()!+@\\]/;

/**
 * The folders a rule waits for. A rule that asks for any path matching certain globs cannot match before some path lies
 * under the part of a glob that is written out. `undefined` when a rule has no such condition.
 */
function pathTriggerOf({ condition }: Rule): PathTrigger | undefined {
  for (const quantified of [condition.paths, condition.reads, condition.writes]) {
    const match = quantified?.any?.match;
    if (match === undefined) continue;
    const folders = (typeof match === "string" ? [match] : match).map(literalFolder);
    if (folders.every((folder) => folder.length > 0 && folder.some((segment) => segment !== "")))
      return folders;
  }
  return undefined;
}

/** The segments of a glob before the first that is not plain text. An absolute one begins with an empty segment. */
function literalFolder(glob: string): string[] {
  const segments = glob.split("/");
  const first = segments.findIndex(
    (segment, index) =>
      GLOB.test(segment) || segment === "." || segment === ".." || (segment === "" && index > 0),
  );
  return first < 0 ? segments : segments.slice(0, first);
}

/** A rule that allows tools or asks about them does not apply to advice; one that blocks a subject does. */
export function isAboutAdvice({ rule }: CompiledRule): boolean {
  return rule.verdict === "blocked" || names(rule.condition, "event");
}

/** The verdict of a rule. */
export function verdictOf(rule: Rule, { constitution_hash, rules_hash }: PolicyHashes): PolicyVerdict {
  const { verdict, name, patch, retry_after, quorum, approvers, four_eyes, expires } = rule;
  const reason = rule.reason || `rule "${name}"`;
  const base = { reason, rule: name, constitution_hash, rules_hash };
  // A rule has a patch if, and only if, its verdict is `modify`.
  if (patch) return { verdict: "modify", ...base, patch };
  switch (verdict) {
    case "allowed":
      return { verdict, ...base };
    case "ask":
      return {
        verdict,
        ...base,
        ...(quorum !== undefined && { quorum }),
        ...(approvers && { approvers }),
        ...(four_eyes && { four_eyes }),
        ...(expires !== undefined && { expires_ms: milliseconds(expires) }),
      };
    case "defer":
      return { verdict, ...base, retry_after_ms: milliseconds(retry_after ?? "1m") };
    default:
      return { verdict: "blocked", ...base };
  }
}

/** Every dotted path under an `arguments` condition, wherever in a file or a condition it stands. */
export function argumentPathsIn(value: unknown): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap(argumentPathsIn))];
  if (typeof value !== "object" || value === null) return [];
  const paths = Object.entries(value).flatMap(([name, member]) =>
    name === "arguments" && typeof member === "object" && member !== null
      ? Object.keys(member)
      : argumentPathsIn(member),
  );
  return [...new Set(paths)];
}

/** Whether a condition has a member of that name, wherever in it. */
export function names(value: unknown, member: string): boolean {
  if (Array.isArray(value)) return value.some((one) => names(one, member));
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([name, inner]) => (name === member && inner !== undefined) || names(inner, member),
  );
}

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
