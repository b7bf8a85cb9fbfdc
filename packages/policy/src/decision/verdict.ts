import type { RuleVerdict } from "../constitution/constitution.ts";

/** What the constitution says about an action, and by which rule. */
export interface PolicyVerdict {
  readonly verdict: RuleVerdict;
  readonly reason: string;
  /** The rule that matched; absent when none did. */
  readonly rule: string | undefined;
  /** BLAKE3 of the prose constitution. */
  readonly constitution_hash: string;
  /** BLAKE3 of the rules. */
  readonly rules_hash: string;
  /** For `modify`: members of the arguments to set, by dotted path. */
  readonly patch?: Readonly<Record<string, unknown>>;
  /** For `defer`: when to ask again. */
  readonly retry_after_ms?: number;
  /** For `ask`: how many people must agree, and for how long the question stands. */
  readonly quorum?: number;
  /** For `ask`: the roles that may answer, where the rule names them. */
  readonly approvers?: readonly string[];
  /** For `ask`: whether the user who asks cannot agree to it. */
  readonly four_eyes?: boolean;
  readonly expires_ms?: number;
}

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
