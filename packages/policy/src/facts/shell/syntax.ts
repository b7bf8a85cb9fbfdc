/** A piece of a word. `quoted` pieces are not split, globbed or brace-expanded. */
export type Part =
  | { readonly kind: "text"; readonly text: string; readonly quoted: boolean }
  | { readonly kind: "variable"; readonly name: string; readonly quoted: boolean }
  /** `$( )` or backticks. */
  | { readonly kind: "output"; readonly body: Statement; readonly quoted: boolean }
  /** `<( )` or `>( )`: the word is the name of a pipe. */
  | { readonly kind: "pipe"; readonly body: Statement }
  /**
   * Anything else that is only known when it runs; what is inside it runs too. Arithmetic evaluates what it finds in
   * variables once more.
   */
  | {
      readonly kind: "computed";
      readonly inside: readonly Part[];
      readonly quoted: boolean;
      readonly arithmetic: boolean;
      /** The variables that it may set on the way: `${name:=value}`, `$((name = 1))`. */
      readonly sets?: readonly string[];
      /** Whether it is a number, and so is what it sets. */
      readonly isNumber?: boolean;
      /** Whether it makes a list of what it is assigned to: `(a b)`, or one element. */
      readonly array?: boolean | undefined;
    };

/** One word of a command as it is written. */
export type Word = readonly Part[];

/** `NAME=value` before a command, alone, or after `export` and its like. */
export interface ShellAssignment {
  readonly name: string;
  /** Absent for `export NAME`. A word of one piece `computed` for arrays and the like. */
  readonly value: Word | undefined;
  readonly appends: boolean;
}

/** Where a command's input or output goes. */
export type Redirect =
  | { readonly kind: "file"; readonly operator: string; readonly target: Word }
  /** A here-document or here-string: the text a command reads. */
  | { readonly kind: "text"; readonly text: Word };

/** What a shell does, as a tree. */
export type Statement =
  | {
      readonly kind: "command";
      readonly assignments: readonly ShellAssignment[];
      readonly words: readonly Word[];
      readonly redirects: readonly Redirect[];
    }
  | { readonly kind: "sequence"; readonly statements: readonly Statement[] }
  /** `&&` and `||`: the second may not run. */
  | { readonly kind: "list"; readonly first: Statement; readonly second: Statement; readonly needs: boolean }
  | { readonly kind: "pipeline"; readonly statements: readonly Statement[] }
  /** `( )` and `&`: what happens inside stays inside. */
  | { readonly kind: "subshell"; readonly body: Statement }
  /** `!`: it succeeds where the body fails. */
  | { readonly kind: "negation"; readonly body: Statement }
  | { readonly kind: "redirected"; readonly body: Statement; readonly redirects: readonly Redirect[] }
  /** `if` and `case`: the tests run one after another, and one of the bodies may. */
  | { readonly kind: "branch"; readonly tests: readonly Statement[]; readonly bodies: readonly Statement[] }
  /** `for` with its words, or `while` with its test. */
  | {
      readonly kind: "loop";
      readonly variable: string | undefined;
      readonly values: readonly Word[];
      readonly test: Statement | undefined;
      readonly body: Statement;
    }
  | { readonly kind: "function"; readonly name: string; readonly body: Statement }
  /** `export`, `declare`, `local`, `readonly`, `unset`. */
  | {
      readonly kind: "declaration";
      readonly keyword: string;
      readonly assignments: readonly ShellAssignment[];
      readonly words: readonly Word[];
    }
  /** `[ ]`, `[[ ]]` and `(( ))`: words are computed, and arithmetic evaluates what it finds in variables. */
  | {
      readonly kind: "test";
      readonly words: readonly Word[];
      readonly arithmetic: boolean;
      /** The variables that arithmetic may set. */
      readonly sets?: readonly string[];
    };

/** A command line, read. */
export interface Script {
  readonly body: Statement;
  /** Where the text may mean something else than what was read, in words; empty when all is clear. */
  readonly unclear: readonly string[];
}

/** The variables that an arithmetic expression may set: all in it, where it sets any. */
export function assignedNames(text: string): readonly string[] {
  return /[^=!<>]=(?!=)|<<=|>>=|\+\+|--/.test(text) ? [...new Set(text.match(/[A-Za-z_]\w*/g))] : [];
}
