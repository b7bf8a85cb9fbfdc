import { posix } from "node:path";
import { hostName } from "../host.ts";
import { expandedText, expandWord } from "./expand.ts";
import { BUILTINS } from "./programs/builtins.ts";
import { EDITORS } from "./programs/editors.ts";
import { findProgram } from "./programs/find.ts";
import { gitProgram } from "./programs/git.ts";
import { isSystemFolder, programOf } from "./programs/program.ts";
import { readByTable, readSubcommand } from "./programs/table-program.ts";
import { NETWORK, tarProgram } from "./programs/transfers.ts";
import { type Answer, type Call, type Handler, hasWideFormat, hidden } from "./programs/words.ts";
import { SHELLS, WRAPPERS, wrapByTable } from "./programs/wrappers.ts";
import { type Input, type Outcome, type Shell, target } from "./shell.ts";
import type { Redirect, Statement } from "./syntax.ts";
import { isEndless, knownValue, type Scope, type Value } from "./value.ts";
import { variableValue } from "./variable.ts";

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

/** Puts down what redirections read and write, and gives what the command reads. */
export function applyRedirects(shell: Shell, redirects: readonly Redirect[], scope: Scope): Input {
  let input: Input = {};
  for (const redirect of redirects) {
    if (redirect.kind === "text") input = { text: expandedText(shell, redirect.text, scope) };
    else if (redirect.target.length > 0) {
      applyFile(shell, redirect.operator, expandedText(shell, redirect.target, scope), scope);
    }
  }
  return input;
}

function applyFile(shell: Shell, operator: string, value: Value, scope: Scope): void {
  if (value.isPipe) return;
  // `2>&1` copies a descriptor; `>& file` writes a file.
  if (operator.endsWith("&") && value.text !== null && /^\d+-?$|^-$/.test(value.text)) return;
  const socket = /^\/dev\/(?:tcp|udp)\/([^/]*)/.exec(value.start);
  if (socket) {
    shell.findings.add({ kind: "net", host: value.text === null ? "*" : hostName(socket[1] ?? "") });
    return;
  }
  const isGlob = value.text !== null && /[*?[]/.test(value.text);
  const path = target(isGlob ? { ...value, text: null } : value, scope);
  if (operator.startsWith("<") && isEndless(value)) shell.findings.isEndless = true;
  if (operator.startsWith("<")) shell.findings.add({ kind: "read", target: path, deep: false });
  else {
    const destroys = operator.includes(">>") ? "never" : "existing";
    shell.findings.add({ kind: "write", target: path, deep: false, destroys });
  }
}

/** What a few commands print is known beforehand. */
export function knownOutput(shell: Shell, body: Statement, scope: Scope): Value | undefined {
  if (body.kind !== "command" || body.redirects.length > 0 || body.assignments.length > 0) return undefined;
  if (body.words.length > 8 || scope.tainted !== undefined) return undefined;
  // Anything that runs would be run twice here.
  if (!body.words.flat().every((part) => part.kind === "text" || part.kind === "variable")) return undefined;
  const words = body.words.flatMap((word) => expandWord(shell, word, scope));
  const texts = words.map((word) => (word.pattern === undefined ? word.text : null));
  if (texts.some((text) => text === null)) return undefined;
  const [name, ...rest] = texts.map((text) => text ?? "");
  if (name === undefined || scope.functions.has(name)) return undefined;
  if (name === "pwd" && rest.length === 0) {
    const value = variableValue("PWD", scope);
    return value.text === null ? undefined : value;
  }
  if (name === "mktemp" && rest.every((option) => option === "-d")) {
    const folder = variableValue("TMPDIR", scope).text ?? "/tmp";
    return knownValue(`${folder}/tmp.XXXXXXXXXX`);
  }
  const isPlain = rest.every((word) => !/^-|[\\\n]/.test(word));
  if (name === "echo" && isPlain) return knownValue(rest.join(" "));
  return undefined;
}
