import type { DecisionInput, Explained, Subject } from "@reins/policy";

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
