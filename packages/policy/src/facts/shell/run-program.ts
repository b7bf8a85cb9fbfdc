import { posix } from "node:path";
import { target } from "./path-target.ts";
import { hasWideFormat } from "./programs/amounts.ts";
import { BUILTINS } from "./programs/builtins.ts";
import type { Answer, Call, Handler } from "./programs/call.ts";
import { hidden } from "./programs/call.ts";
import { EDITORS } from "./programs/editors.ts";
import { findProgram } from "./programs/find.ts";
import { gitProgram } from "./programs/git.ts";
import { NETWORK } from "./programs/network.ts";
import { isSystemFolder, programOf } from "./programs/program.ts";
import { SHELLS } from "./programs/shells.ts";
import { readByTable, readSubcommand } from "./programs/table-program.ts";
import { tarProgram } from "./programs/tar.ts";
import { WRAPPERS, wrapByTable } from "./programs/wrappers.ts";
import type { Scope } from "./scope.ts";
import type { Input, Outcome, Shell } from "./shell.ts";
import type { Value } from "./value.ts";

const HANDLERS: ReadonlyMap<string, Handler> = new Map([
  ...BUILTINS,
  ...EDITORS,
  ...NETWORK,
  ...SHELLS,
  ...WRAPPERS,
  ["find", findProgram],
  ["git", gitProgram],
  ["tar", tarProgram],
]);

/** Whether a name is one that we read the words of. */
export function isKnownProgram(name: string): boolean {
  return HANDLERS.has(name) || programOf(name) !== undefined;
}

/** Puts down that a program runs, and what its words say it does. */
export function runProgram(
  shell: Shell,
  values: readonly Value[],
  scope: Scope,
  input: Input,
): Outcome | undefined {
  const [first, ...words] = values;
  const name = programName(shell, first, scope);
  const call: Call = { shell, name: name.command, words, scope, input };
  const at = shell.findings.found.length;
  const answer = name.isKnown ? answerOf(call) : hidden(call, name.why);
  const isTainted = scope.tainted !== undefined;
  if (scope.tainted !== undefined) shell.findings.hide(scope.tainted);
  shell.findings.insert(at, {
    kind: "exec",
    command: name.command,
    arguments: words.map(({ text }) => text),
    opaque: answer.opaque || isTainted,
    repository: answer.repository,
    hooks: answer.hooks,
    obeys: answer.obeys,
  });
  return answer.outcome;
}

/** Builtins that some shells let evaluate their words as arithmetic, in which a subscript runs commands. */
const EVALUATING = new Set(
  "exit return shift break continue ulimit umask wait fg bg disown printf echo test [".split(" "),
);

function answerOf(call: Call): Answer {
  if (EVALUATING.has(call.name) && call.words.some(({ text }) => /\[[^\]]*(?:\$\(|`)/.test(text ?? ""))) {
    return hidden(call, `${call.name} with words that may be evaluated`);
  }
  if (call.words.some(({ text }) => hasWideFormat(text ?? "")))
    call.shell.findings.doubt(`${call.name} pads what it prints very far`);
  const handler = HANDLERS.get(call.name);
  if (handler) return handler(call);
  const entry = programOf(call.name);
  if (!entry) return hidden(call, `${call.name} is not a program that is known here`);
  if (entry.wraps !== undefined) return wrapByTable(call, entry, entry.wraps);
  if (entry.subcommands) return readSubcommand(call.shell, call.name, entry, call.words, call.scope);
  return readByTable(call.shell, call.name, entry, call.words, call.scope);
}

type ProgramName =
  | { readonly isKnown: true; readonly command: string }
  | { readonly isKnown: false; readonly command: string; readonly why: string };

/** `/usr/bin/git` is git; `./git` is whatever lies there. */
function programName(shell: Shell, word: Value | undefined, scope: Scope): ProgramName {
  if (word === undefined || word.text === null || word.pattern !== undefined || word.deep) {
    return { isKnown: false, command: "*", why: "which program runs is only known at run time" };
  }
  if (!word.text.includes("/")) return { isKnown: true, command: word.text };
  if (isSystemFolder(posix.dirname(word.text))) return { isKnown: true, command: posix.basename(word.text) };
  shell.findings.add({ kind: "read", target: target(word, scope), deep: false });
  return { isKnown: false, command: word.text, why: `${word.text} is a program of its own` };
}
