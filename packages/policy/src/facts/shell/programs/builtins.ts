import { posix } from "node:path";
import { mayRunCommands } from "../expand.ts";
import { assignedNames } from "../syntax.ts";
import { knownValue, union, unknownValue, type Value } from "../value.ts";
import { variableValue } from "../variable.ts";
import { programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { foldersAfter } from "./table-program.ts";
import { type Call, CLEAR, type Handler, hidden, readWords } from "./words.ts";

/** What is part of the shell itself. */
export const BUILTINS: readonly (readonly [string, Handler])[] = [
  ["cd", changeFolder],
  ["pushd", changeFolder],
  ["popd", (call) => changeTo(call, undefined)],
  ["eval", evaluate],
  ["source", runFile],
  [".", runFile],
  ["exec", (call) => startRest(call, { flags: "cl", values: { a: "text" } })],
  ["command", lookUp],
  ["builtin", (call) => startRest(call, {})],
  ["trap", setTrap],
  ["alias", setAlias],
  ["set", setOptions],
  ["shopt", (call) => unusual(call)],
  ["setopt", (call) => unusual(call)],
  ["read", readVariables],
  ["let", letArithmetic],
  ["printf", print],
  ["test", testWords],
  ["[", testWords],
  ["shift", shiftArguments],
  ["exit", leave],
  ["return", jump],
  ["break", jump],
  ["continue", jump],
  ["time", runTimed],
  ...["export", "declare", "typeset", "readonly", "local", "unset"].map(
    (name) => [name, (call: Call) => hidden(call, `${name} changes variables`)] as const,
  ),
];

function changeFolder(call: Call): ReturnType<Handler> {
  const { operands, doubts, present } = readWords(call.words, { flags: "LPe@n" });
  const [operand] = operands;
  if (doubts.length > 0 || operands.length > 1) return changeTo(call, undefined);
  if (!operand) return changeTo(call, call.name === "cd" ? variableValue("HOME", call.scope) : undefined);
  const isOdd = operand.text === "-" || /^[+-]\d/.test(operand.start) || looksElsewhere(call, operand.start);
  return changeTo(call, isOdd ? undefined : operand, present.has("P"));
}

/** With CDPATH set, a plain name may be found in other folders. */
function looksElsewhere({ scope }: Call, start: string): boolean {
  const isSet = scope.variables.has("CDPATH") || Object.hasOwn(scope.environment, "CDPATH");
  return isSet && !/^\.{0,2}\//.test(start);
}

/**
 * A change of folder may fail, and then the shell stays. Shells resolve `..` in the text; where that leads nowhere, or
 * with `-P`, on the disk.
 */
function changeTo({ scope }: Call, folder: Value | undefined, onDisk = false): ReturnType<Handler> {
  const failure = scope.folders;
  const given = folder && foldersAfter(folder, scope);
  const isTwofold = /[^/.][^/]*\/+\.\.(?:\/|$)/.test(folder?.text ?? "");
  const byText = onDisk ? [] : given?.map((path) => posix.normalize(path));
  const success = onDisk ? given : isTwofold ? union(byText, given) : byText;
  scope.folders = union(success, failure);
  scope.traps.moves = true;
  scope.variables.delete("PWD");
  return { opaque: false, outcome: { success, failure } };
}

function shiftArguments({ scope }: Call): ReturnType<Handler> {
  scope.positional = undefined;
  return CLEAR;
}

function evaluate(call: Call): ReturnType<Handler> {
  const { shell, words, scope } = call;
  const text = joined(words);
  shell.runText(text, scope, "eval of a text that is only known at run time");
  return { opaque: text.text === null };
}

/** Several words as the one text that a shell makes of them. */
export function joined(words: readonly Value[]): Value {
  const texts = words.map(({ text, pattern }) => (pattern === undefined ? text : null));
  return texts.includes(null) ? unknownValue(false) : knownValue(texts.join(" "));
}

function runFile(call: Call): ReturnType<Handler> {
  const [file] = call.words;
  if (file) applyRole("read", file, { ...call, deep: false });
  call.scope.tainted ??= "a file was run that may have changed anything";
  return hidden(call, "a file is run as a part of the shell");
}

function startRest(call: Call, options: Parameters<typeof readWords>[1]): ReturnType<Handler> {
  const { shell, words, scope, input } = call;
  if (words.length === 0) return CLEAR;
  const { operands, doubts } = readWords(words, options, { stopsAtOperand: true });
  if (operands.length > 0) shell.runWords(operands, scope, input);
  return doubts.length === 0 ? CLEAR : hidden(call, `${call.name} with options that are not known`);
}

function lookUp(call: Call): ReturnType<Handler> {
  const asks = call.words[0]?.text === "-v" || call.words[0]?.text === "-V";
  return asks ? CLEAR : startRest(call, { flags: "p" });
}

function setTrap(call: Call): ReturnType<Handler> {
  const [action] = call.words;
  if (!action || action.text === "-" || action.text === "" || /^-[lp]$/.test(action.text ?? "")) return CLEAR;
  const [text = action, ...signals] = action.text === "--" ? call.words.slice(1) : call.words;
  const { shell, scope } = call;
  const inside = scope.copy();
  shell.runText(text, inside, "a trap that is only known at run time");
  scope.addTrap(text);
  const isLast = signals.every((signal) => /^(?:EXIT|0)$/i.test(signal.text ?? ""));
  if (!isLast && !inside.isLike(scope)) return hidden(call, "a trap changes what the commands after it do");
  return { opaque: text.text === null };
}

function setAlias(call: Call): ReturnType<Handler> {
  const meanings = call.words.filter((word) => word.text === null || word.text.includes("="));
  if (meanings.length === 0) return CLEAR;
  for (const { text } of meanings) {
    const meaning = text === null ? unknownValue(false) : knownValue(text.slice(text.indexOf("=") + 1));
    call.shell.runText(meaning, call.scope.copy(), "an alias that is only known at run time");
  }
  call.scope.tainted ??= "an alias gives a name another meaning";
  return hidden(call, "an alias gives a name another meaning");
}

const USUAL_OPTION = /^[-+](?:[eux]+o?|E|v|n|o)$|^(?:pipefail|errexit|nounset|xtrace|verbose|noexec|posix)$/;

function setOptions(call: Call): ReturnType<Handler> {
  if (call.words.length === 0) call.shell.findings.doubt("shows variables, which may hold secrets");
  call.scope.positional = undefined;
  const end = call.words.findIndex((word) => word.text === "--");
  const options = end === -1 ? call.words : call.words.slice(0, end);
  return options.every((word) => USUAL_OPTION.test(word.text ?? " ")) ? CLEAR : unusual(call);
}

function unusual(call: Call): ReturnType<Handler> {
  call.scope.unusualWords = true;
  call.scope.tainted ??= "an option of the shell changes how it reads commands";
  return hidden(call, call.scope.tainted);
}

const READ_OPTIONS = {
  flags: "resE",
  values: { a: "text", d: "text", i: "text", n: "text", N: "text", p: "text", t: "text", u: "text" },
} as const;

function readVariables(call: Call): ReturnType<Handler> {
  const { operands, options, doubts } = readWords(call.words, READ_OPTIONS);
  for (const value of [...operands, ...options.map((option) => option.value)]) {
    if (value.text !== null) call.scope.set(value.text, unknownValue(true));
  }
  for (const { name, value } of options)
    if (name === "a" && value.text !== null) call.scope.lists.add(value.text);
  const isOdd = operands.some(({ text }) => text === null || !/^[A-Za-z_]\w*$/.test(text));
  return doubts.length > 0 || isOdd ? hidden(call, "read into something that may be evaluated") : CLEAR;
}

function letArithmetic(call: Call): ReturnType<Handler> {
  const isPlain = call.words.every(({ text }) => text !== null && !mayRunCommands(text, call.scope));
  for (const { text } of call.words)
    for (const name of assignedNames(text ?? "")) call.scope.set(name, unknownValue(true));
  return isPlain ? CLEAR : hidden(call, "arithmetic on a text that may hold commands");
}

function print(call: Call): ReturnType<Handler> {
  if (call.words.some(({ text }) => /%[-+ 0#']*\*|%[^\s%]*\.\*/.test(text ?? "")))
    call.shell.findings.doubt("printf pads what it prints as far as a word says");
  const isStored = call.words[0]?.start.startsWith("-v") || call.words[0]?.text === null;
  if (!isStored) return CLEAR;
  const name = call.words[0]?.text === "-v" ? call.words[1]?.text : call.words[0]?.text?.slice(2);
  if (name == null || !/^[A-Za-z_]\w*$/.test(name))
    return hidden(call, "printf into something that may be evaluated");
  call.scope.set(name, unknownValue(true));
  return CLEAR;
}

function testWords(call: Call): ReturnType<Handler> {
  const looksUp = call.words.some(({ text }) => /^-(?:v|R|eq|ne|lt|le|gt|ge)$/.test(text ?? ""));
  const isPlain = call.words.every(({ text }) => text !== null && !/[$`[]/.test(text));
  return looksUp && !isPlain ? hidden(call, "a test that may evaluate commands") : CLEAR;
}

function leave(): ReturnType<Handler> {
  return { opaque: false, outcome: { success: [], failure: [] } };
}

/** More places from which a script jumps than anybody writes. */
const JUMP_LIMIT = 64;

/** `break`, `continue`, `return`: what follows it may be skipped. */
function jump(call: Call): ReturnType<Handler> {
  const { jumps } = call.shell;
  if (jumps.length >= JUMP_LIMIT) return hidden(call, "the command jumps too often to follow");
  jumps.push(call.scope.copy());
  return call.name === "return" ? leave() : CLEAR;
}

/** `time` is a word of the shell: what follows it changes this shell. As a program, it does not. */
function runTimed(call: Call): ReturnType<Handler> {
  const { operands, options, doubts } = readWords(call.words, programOf("time") ?? {}, {
    stopsAtOperand: true,
  });
  for (const { value, role } of options) applyRole(role, value, { ...call, deep: false });
  if (operands.length > 0) call.shell.runCommand(operands, call.scope, call.input);
  return doubts.length === 0 ? CLEAR : hidden(call, `time: ${doubts[0]}`);
}
