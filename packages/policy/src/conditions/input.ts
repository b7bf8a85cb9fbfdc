import type { Action } from "../action.ts";
import type { Subject } from "../subject.ts";

/** Everything a decision looks at. Plain data: it is stored with the verdict, and decides the same again. */
export interface DecisionInput {
  readonly event_type: string;
  readonly action: Action;
  readonly subject: Subject;
  /** What the subject did before, as far as the constitution asks; see `History`. */
  readonly counters: Counters;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** How often each sequence that the constitution names has come to pass, by its key. */
export type Counters = Readonly<Record<string, number>>;
