import type { Rule } from "../constitution/constitution.ts";
import type { Policy } from "../decision/policy.ts";

/** A rule that can never match, and the earlier one that takes everything it could. */
export interface UnreachableRule {
  readonly rule: string;
  readonly because: string;
}

interface Asking {
  readonly name: string;
  /** The members of its condition, as text. */
  readonly members: ReadonlySet<string>;
}

/**
 * The rules that can never match, as far as that can be seen: before them stands one that asks for nothing which they
 * do not ask for in the same words, such as `{}`.
 */
export function unreachableRules({ rules }: Policy): UnreachableRule[] {
  // Earlier rules under one of their members: a rule that asks for all of an earlier one's asks for that one too.
  const earlier = new Map<string, Asking[]>();
  return rules.flatMap(({ rule }) => {
    const members = membersOf(rule);
    const because = [NOTHING, ...members]
      .flatMap((member) => earlier.get(member) ?? [])
      .find((candidate) => candidate.members.isSubsetOf(members));
    if (because) return [{ rule: rule.name, because: because.name }];
    const [first = NOTHING] = members;
    const alike = earlier.get(first) ?? [];
    alike.push({ name: rule.name, members });
    earlier.set(first, alike);
    return [];
  });
}

const NOTHING = "";

function membersOf({ condition }: Rule): ReadonlySet<string> {
  const given = Object.entries(condition).filter(([, asked]) => asked !== undefined);
  return new Set(given.map(([name, asked]) => `${name}: ${JSON.stringify(asked)}`));
}
