import type { TestOutcome } from "../constitution/run-tests.ts";
import type { ConstitutionText } from "../constitution/text.ts";
import type { PolicyHashes } from "../decision/policy.ts";
import type { PolicyFault } from "../policy-error.ts";

/** What a thread is started to find out about a draft. */
export type StudyJob =
  | {
      readonly kind: "check";
      readonly text: ConstitutionText;
      /** The rules in force, that the draft is compared with. */
      readonly inForce: string | undefined;
    }
  | {
      readonly kind: "backtest";
      readonly text: ConstitutionText;
      readonly tenant: string;
      /** The rules that were in force. */
      readonly known: readonly string[];
      readonly examples: number | undefined;
    }
  | { readonly kind: "coverage"; readonly text: ConstitutionText; readonly tenant: string };

/** What is said to a thread that holds a draft against the past. */
export type StudyMessage =
  | {
      readonly kind: "add";
      /** Payloads as JSON, because numbers with more digits than JavaScript holds do not pass between threads. */
      readonly verdicts: readonly { readonly cid: string; readonly payload: string }[];
    }
  | { readonly kind: "report" };

/** What there is to say about a draft, as plain data. */
export interface CheckedDraft {
  readonly faults: readonly PolicyFault[];
  readonly remarks: readonly PolicyFault[];
  readonly tests: readonly TestOutcome[];
  /** Of the policy that it makes, if it makes one. */
  readonly made:
    | {
        readonly hashes: PolicyHashes;
        readonly rules: number;
        readonly limits: number;
        /** Whether it can be seen to let nothing more through than what is in force. */
        readonly noLooser: boolean | undefined;
      }
    | undefined;
}
