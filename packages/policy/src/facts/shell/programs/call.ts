import type { Obeyed } from "../../findings.ts";
import type { Scope } from "../scope.ts";
import type { Input, Outcome, Shell } from "../shell.ts";
import type { Value } from "../value.ts";

/** A program about to run. */
export interface Call {
  readonly shell: Shell;
  readonly name: string;
  readonly words: readonly Value[];
  readonly scope: Scope;
  readonly input: Input;
}

/** What came of reading a call. */
export interface Answer {
  /** Whether what it does cannot be seen from its words. */
  readonly opaque: boolean;
  /** Where the shell may be afterwards, if that changes. */
  readonly outcome?: Outcome | undefined;
  /** The folders whose git repository may make it run more. */
  readonly repository?: readonly string[] | undefined;
  /** Whether the hooks of that repository are among it. */
  readonly hooks?: boolean | undefined;
  /** Files that choose what runs in its place. */
  readonly obeys?: Obeyed | undefined;
}

/** Reads the words of one kind of program. */
export type Handler = (call: Call) => Answer;

/** All of it can be seen. */
export const CLEAR: Answer = { opaque: false };

/** Puts down why not all can be seen. */
export function hidden({ shell }: Call, why: string): Answer {
  shell.findings.hideIn(why);
  return { opaque: true };
}
