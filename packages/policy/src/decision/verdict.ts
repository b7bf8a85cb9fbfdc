import type { RuleVerdict } from "../constitution/constitution.ts";

/** The two names of a policy: of its prose, and of its rules. */
export interface PolicyHashes {
  readonly constitution_hash: string;
  readonly rules_hash: string;
}

/** What an `ask` demands of the people who answer it. */
export interface AskTerms {
  /** How many people must agree. */
  readonly quorum?: number;
  /** The roles that may answer, where the rule names them. */
  readonly approvers?: readonly string[];
  /** Whether the user who asks cannot agree to it. */
  readonly four_eyes?: boolean;
  /** How long the question is open. */
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

/** From the strictest to the loosest. */
const STRICTNESS: readonly RuleVerdict[] = ["blocked", "defer", "ask", "modify", "allowed"];

/** Whether one verdict is at least as strict as another. */
export function isAtLeastAsStrict(verdict: RuleVerdict, than: RuleVerdict): boolean {
  return STRICTNESS.indexOf(verdict) <= STRICTNESS.indexOf(than);
}
