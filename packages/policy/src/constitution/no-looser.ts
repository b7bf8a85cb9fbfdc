import { isAtLeastAsStrict } from "../decision/policy.ts";
import type { ConstitutionFile, Limit, Rule } from "./constitution.ts";

/**
 * Whether a constitution can be seen to allow nothing that an earlier one did not: the same rules in the same order, each
 * at least as strict, with nothing but blocks between them, and limits and harnesses no weaker. What cannot be seen to be
 * stricter counts as looser.
 */
export function isNoLooser(after: ConstitutionFile, before: ConstitutionFile): boolean {
  return (
    rulesAreNoLooser(after.tool_rules, before.tool_rules) &&
    same(after.tool_approval_policy, before.tool_approval_policy) &&
    same(after.tools, before.tools) &&
    before.limits.every((limit) => after.limits.some((other) => limitIsNoLooser(other, limit))) &&
    before.harnesses.every((harness) =>
      after.harnesses.some(
        (other) => same({ ...other, fail: "" }, { ...harness, fail: "" }) && other.fail <= harness.fail,
      ),
    )
  );
}

function rulesAreNoLooser(after: readonly Rule[], before: readonly Rule[]): boolean {
  let next = 0;
  for (const rule of after) {
    const earlier = before[next];
    if (earlier && ruleIsNoLooser(rule, earlier)) next += 1;
    else if (rule.verdict !== "blocked") return false;
  }
  return next === before.length;
}

function ruleIsNoLooser(after: Rule, before: Rule): boolean {
  const sameButVerdict = same(
    { ...after, name: "", reason: "", verdict: "", quorum: 0, four_eyes: false },
    { ...before, name: "", reason: "", verdict: "", quorum: 0, four_eyes: false },
  );
  return (
    sameButVerdict &&
    isAtLeastAsStrict(after.verdict, before.verdict) &&
    (after.quorum ?? 1) >= (before.quorum ?? 1) &&
    // Four eyes may only be dropped where nothing is allowed any more.
    (!before.four_eyes || after.four_eyes === true || after.verdict === "blocked")
  );
}

function limitIsNoLooser(after: Limit, before: Limit): boolean {
  const bounds = ["calls", "tokens", "cost"] as const;
  // Uses count against a limit by its name: under another one, all that was used up would be there again.
  const unbounded = (limit: Limit) => ({ ...limit, calls: 0, tokens: 0, cost: 0, exceeded: "" });
  return (
    same(unbounded(after), unbounded(before)) &&
    bounds.every(
      (bound) => (after[bound] ?? Number.POSITIVE_INFINITY) <= (before[bound] ?? Number.POSITIVE_INFINITY),
    ) &&
    isAtLeastAsStrict(after.exceeded, before.exceeded)
  );
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    entries
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}
