import type { DecisionInput } from "../action.ts";
import { compileCondition } from "../conditions/compile.ts";
import type { Clause } from "../conditions/effect-clauses.ts";
import { plainNames } from "../conditions/pattern.ts";
import type { Rule, ToolDeclarations } from "../constitution/constitution.ts";

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
