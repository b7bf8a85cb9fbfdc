import type { Clause } from "../conditions/effect-clauses.ts";
import type { Whose } from "../constitution/condition.ts";

/** Earlier actions that a rule asks about: of a kind, by a subject, within a time. */
export interface Sequence {
  readonly key: string;
  readonly by: Whose;
  /** Milliseconds; without it, since the beginning. */
  readonly within: number | undefined;
  readonly clauses: readonly Clause[];
}
