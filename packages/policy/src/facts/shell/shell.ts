import type { Findings } from "../findings.ts";
import type { ParseText } from "./parser.ts";
import type { Folders, Scope } from "./scope.ts";
import type { Statement } from "./syntax.ts";
import type { Value } from "./value.ts";

/** What the parts of the shell share while one command line is gone through. */
export interface Shell {
  readonly findings: Findings;
  readonly parse: ParseText;
  /** Goes through a statement; what it finds is in `findings`, what it changes in the scope. */
  run(statement: Statement, scope: Scope): void;
  /** Reads a text as a script of its own and goes through it: `bash -c`, `eval`, `trap`. */
  runText(text: Value, scope: Scope, why: string): void;
  /** Goes through a command whose words are expanded already: what `env`, `xargs` and their like start. */
  runWords(words: readonly Value[], scope: Scope, input?: Input): void;
}

/** What a command reads from its standard input. */
export interface Input {
  /** The text of a here-document or here-string, if that is where it comes from. */
  readonly text?: Value | undefined;
  /** The paths that come by a pipe, if that is known. */
  readonly found?: Found | undefined;
}

/** What a program prints that finds files. */
export interface Found {
  readonly values: readonly Value[];
  /** Whether a NUL ends each path, and not a line's end. */
  readonly endsWithNul: boolean;
}

/** Where the shell may be after a statement that succeeded, and after one that failed. */
export interface Outcome {
  readonly success: Folders;
  readonly failure: Folders;
}
