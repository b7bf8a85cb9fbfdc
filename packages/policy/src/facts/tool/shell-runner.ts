import type { FactsContext } from "../facts-context.ts";
import type { Findings } from "../findings.ts";
import { Interpreter } from "../shell/interpreter.ts";
import type { ParseText } from "../shell/parser.ts";
import { Scope } from "../shell/scope.ts";
import { knownValue } from "../shell/value.ts";

/** Goes through the commands of a tool call. */
export interface ShellRunner {
  runText(text: string, folders: readonly string[]): void;
  /** A program and its arguments, with no shell around them. */
  runWords(words: readonly string[], folders: readonly string[]): void;
}

/** A runner for one action. */
export function shellRunner(findings: Findings, parse: ParseText, context: FactsContext): ShellRunner {
  const scope = (folders: readonly string[]): Scope => {
    const start = new Scope({ folders, home: context.home, environment: context.environment });
    start.positional = [];
    return start;
  };
  return {
    runText: (text, folders) => new Interpreter(findings, parse).runScript(text, scope(folders)),
    runWords: (words, folders) =>
      new Interpreter(findings, parse).runWords(words.map(knownValue), scope(folders)),
  };
}
