import type { Clause } from "../conditions/effect-clauses.ts";
import type { DecisionInput } from "../conditions/input.ts";
import type { CompiledRule } from "../decision/compiled-rule.ts";
import { argumentPathsIn, type Policy } from "../decision/policy.ts";

/** A rule that looks at arguments: at which, and what else must hold. */
interface AskingRule {
  readonly index: number;
  readonly paths: readonly string[];
  readonly others: readonly Clause[];
}

/**
 * Finds where a policy would test arguments that a record does not hold. Only those are recorded that the policy of the
 * time tested, so a later one may test arguments that are lost.
 */
export class BlindRules {
  readonly #asking: readonly AskingRule[];
  readonly #indexes: ReadonlyMap<string, number>;

  constructor({ rules }: Policy) {
    this.#asking = rules.flatMap(askingRule);
    this.#indexes = new Map(rules.map(({ rule, index }) => [rule.name, index]));
  }

  /** Whether a rule that could have matched before the one that did asked for an argument that is not on record. */
  blindTo(input: DecisionInput, matched: string | undefined, kept: ReadonlySet<string>): boolean {
    if (this.#asking.length === 0) return false;
    const last = matched === undefined ? Infinity : (this.#indexes.get(matched) ?? Infinity);
    return this.#asking.some(
      ({ index, paths, others }) =>
        index <= last &&
        paths.some((path) => !kept.has(path) && !isThere(input.action.arguments, path)) &&
        others.every(({ holds }) => holds(input)),
    );
  }
}

function askingRule({ index, rule, clauses }: CompiledRule): AskingRule[] {
  const { arguments: asked = {}, ...rest } = rule.condition;
  const paths = new Set([...Object.keys(asked), ...argumentPathsIn(rest)]);
  if (paths.size === 0) return [];
  const nested = new Set(
    Object.entries(rest).flatMap(([name, member]) => (argumentPathsIn(member).length > 0 ? [name] : [])),
  );
  const others = clauses.filter(({ name }) => !name.startsWith("arguments.") && !nested.has(name));
  return [{ index, paths: [...paths], others }];
}

function isThere(value: unknown, path: string): boolean {
  let found = value;
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return false;
    found = Reflect.get(found, name);
  }
  return true;
}
