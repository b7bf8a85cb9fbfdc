import type { Findings } from "../findings.ts";
import type { FactsContext } from "../gather.ts";
import { hostOfUrl } from "../host.ts";
import { Interpreter } from "../shell/interpreter.ts";
import type { ParseText } from "../shell/read-script.ts";
import { Scope } from "../shell/scope.ts";
import { knownValue } from "../shell/value.ts";
import { textsIn } from "./json.ts";
import type { ToolSetting } from "./tool-findings.ts";

const TEXT_LIMIT = 200;
const LENGTH_LIMIT = 4_096;
const COMMAND_NAME = /command|cmd|script|shell|bash|exec|code|program|argv/i;
const PATH_NAME = /path|file|dir|folder|uri|root|source|target|dest|location/i;

/**
 * Arguments of unknown meaning: what looks like a path, an address or a command counts as one, so that rules about
 * secrets and commands see it.
 * @returns whether anything did
 */
export function readUnknownArguments(given: unknown, { findings, shell, folders }: ToolSetting): boolean {
  let found = false;
  for (const { name, text } of textsIn(given, TEXT_LIMIT)) {
    if (text === "" || text.length > LENGTH_LIMIT) continue;
    if (COMMAND_NAME.test(name)) shell.runText(text, folders);
    else if (/^(?!file:)[a-z][a-z0-9+.-]*:\/\//i.test(text))
      findings.add({ kind: "net", host: hostOfUrl(text) });
    else if (
      !/\n/.test(text) &&
      (PATH_NAME.test(name) || /^(?:[~/]|\.{1,2}(?:\/|$)|file:|\.\w)|\/\.\.?(?:\/|$)|\\/.test(text))
    ) {
      findings.add({ kind: "read", target: { text, base: folders }, deep: true });
    } else if (!/[;&|`<>]|\$\(/.test(text) && !/^[\w.-]+\/[\w./-]+$/.test(text)) continue;
    found = true;
  }
  return found;
}

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
