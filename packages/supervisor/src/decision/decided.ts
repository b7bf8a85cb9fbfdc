import type { Enforcement, RuleVerdict } from "@reins/policy";

/** What was decided on an event, after everybody who has a say was heard. */
export interface Decided {
  readonly verdict: RuleVerdict;
  readonly reason: string;
  /** The rule, limit or harness that settled it. */
  readonly rule: string | undefined;
  readonly enforcement: Enforcement;
  /** The content id of the verdict in the ledger. What lets nothing through is told before it is written, without one. */
  readonly entry: string | undefined;
  /** Of what lets nothing through: the content id, once it is written; `undefined` when it cannot be. Never rejects. */
  readonly written?: Promise<string | undefined>;
  /** For `ask`: the approval that waits for a person. */
  readonly approval?: string;
  /** For `defer`. */
  readonly retry_after_ms?: number;
  /** For `modify`: the arguments to act with instead. */
  readonly modified_arguments?: unknown;
}
