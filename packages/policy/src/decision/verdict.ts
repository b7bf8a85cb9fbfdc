import type { ConstitutionFile, Limit, Rule, RuleVerdict } from "../constitution/constitution.ts";

/** What an `ask` demands of the people who answer it. */
export interface AskTerms {
  /** How many people must agree. */
  readonly quorum?: number;
  /** The roles that may answer, where the rule names them. */
  readonly approvers?: readonly string[];
  /** Whether the user who asks cannot agree to it. */
  readonly four_eyes?: boolean;
  /** How long the question stands. */
  readonly expires_ms?: number;
}

/** What the constitution says about an action, and by which rule. */
export type PolicyVerdict = {
  readonly reason: string;
  /** The rule that matched; absent when none did. */
  readonly rule: string | undefined;
  /** BLAKE3 of the prose constitution. */
  readonly constitution_hash: string;
  /** BLAKE3 of the rules. */
  readonly rules_hash: string;
} & (
  | { readonly verdict: "allowed" | "blocked" }
  | ({ readonly verdict: "ask" } & AskTerms)
  /** `retry_after_ms`: when to ask again. */
  | { readonly verdict: "defer"; readonly retry_after_ms: number }
  /** `patch`: members of the arguments to set, by dotted path. */
  | { readonly verdict: "modify"; readonly patch: Readonly<Record<string, unknown>> }
);

/** A verdict and the rule it is from; no rule says that none matched. */
export type Said = Pick<PolicyVerdict, "verdict" | "rule">;

/**
 * What comes of an action that a rule modifies, once what it has become was decided on: it passes as modified unless
 * that is stopped, and what a second rule would modify further is blocked.
 */
export function afterModify(first: Said, again: Said): Said {
  if (again.verdict === "allowed") return first;
  if (again.verdict !== "modify") return again;
  return again.rule === first.rule ? first : { verdict: "blocked", rule: again.rule };
}

/** Whether an action with this verdict happens, as it is or modified. */
export function permitsAction(verdict: RuleVerdict): boolean {
  return verdict === "allowed" || verdict === "modify";
}

/** From the strictest to the loosest. */
const STRICTNESS: readonly RuleVerdict[] = ["blocked", "defer", "ask", "modify", "allowed"];

/** Whether one verdict is at least as strict as another. */
export function isAtLeastAsStrict(verdict: RuleVerdict, than: RuleVerdict): boolean {
  return STRICTNESS.indexOf(verdict) <= STRICTNESS.indexOf(than);
}

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
