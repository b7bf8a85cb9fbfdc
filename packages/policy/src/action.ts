import type { Effect } from "./effect.ts";

/** What an agent says of its own action. It can make a verdict stricter, never looser. */
export interface Claims {
  readonly title?: string | undefined;
  readonly kind?: string | undefined;
  readonly risk?: string | undefined;
}

/**
 * What an action is, as far as the harness found out by itself. Plain data: it is stored with the verdict, so that
 * history can be decided again.
 */
export interface Action {
  /** The tool's name as the agent calls it. */
  readonly tool: string;
  readonly effects: readonly Effect[];
  /** Whether it may do more than its effects say. */
  readonly opaque: boolean;
  /**
   * Said where it is opaque for another reason than what its programs do by themselves: variables that change them, words
   * that are evaluated, unknown arguments. A rule that names programs does not cover this.
   */
  readonly unaccounted?: true;
  /** Why it is opaque or where something could not be found out, in words; empty when all is known. */
  readonly doubts: readonly string[];
  readonly claims: Claims;
  /** The tool's arguments as they came. */
  readonly arguments: unknown;
}
