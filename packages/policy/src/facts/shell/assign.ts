import { checkArithmetic, expandText, expandWord } from "./expand.ts";
import type { Scope } from "./scope.ts";
import type { Shell } from "./shell.ts";
import type { Assignment, Statement, Word } from "./syntax.ts";
import { knownValue, unknownValue, type Value } from "./value.ts";
import { isHarmlessVariable } from "./variable-table.ts";

/** `NAME=value` on its own: a variable of the shell. */
export function assign(shell: Shell, assignment: Assignment, scope: Scope): void {
  const value = assignedValue(shell, assignment, scope);
  if (isList(assignment.value)) scope.lists.add(assignment.name);
  setVariable(shell, assignment.name, value, scope);
}

/** `NAME=value command`: a variable of the command, which may change what it does. */
export function prefix(shell: Shell, assignment: Assignment, words: readonly Value[], scope: Scope): void {
  assignedValue(shell, assignment, scope);
  if (isHarmlessVariable(assignment.name)) return;
  const program = words[0]?.text ?? "a program";
  shell.findings.hide(`${assignment.name} is set, which may change what ${program} does`);
}

/** `export`, `declare`, `readonly`, `unset` and their like. */
export function declare(shell: Shell, statement: Statement & { kind: "declaration" }, scope: Scope): void {
  const { keyword, assignments } = statement;
  const words = statement.words.flatMap((word) => expandWord(shell, word, scope));
  const options = words.filter((word) => word.text?.startsWith("-"));
  const names = words.filter((word) => !options.includes(word));
  const isOdd = options.some((option) => !/^-[xgrapfvlu]+$/.test(option.text ?? ""));
  if (isOdd || names.some((name) => name.text === null || /[$`[]/.test(name.text))) {
    shell.findings.hide(`${keyword} with something that may be evaluated`);
  }
  const isArray = options.some((option) => /^-\w*[aA]/.test(option.text ?? ""));
  if (names.length + assignments.length === 0) {
    shell.findings.doubt("shows variables, which may hold secrets");
  }
  for (const name of names) {
    if (name.text?.includes("=") && (isArray || scope.lists.size > 0)) checkList(shell, keyword, name, true);
    declareText(shell, keyword, name.text ?? "", scope);
  }
  for (const one of assignments) {
    const value = one.value === undefined ? undefined : assignedValue(shell, one, scope);
    if (value && !isList(one.value)) checkList(shell, keyword, value, isArray || scope.lists.has(one.name));
    if (isArray || isList(one.value)) scope.lists.add(one.name);
    declareName(shell, keyword, one.name, value, scope);
  }
  shell.findings.add({
    kind: "exec",
    command: keyword,
    arguments: words.map((word) => word.text),
    opaque: false,
  });
}

/** `NAME=(…)` and `NAME[index]=value`, which make a list of it. */
function isList(word: Word | undefined): boolean {
  return word?.some((part) => part.kind === "computed" && part.array === true) ?? false;
}

/** `declare -a NAME='(…)'`: the text becomes a list, and what stands in it is expanded once more. */
function checkList(shell: Shell, keyword: string, value: Value, isArray: boolean): void {
  if (isArray && (value.text === null || /[$`[]/.test(value.text)))
    shell.findings.hide(`${keyword} of a list whose text may be evaluated`);
}

/** `export "NAME=value"`: an assignment that the parser sees as a word. */
function declareText(shell: Shell, keyword: string, text: string, scope: Scope): void {
  const [, name = text, value] = /^([A-Za-z_]\w*)\+?=([\s\S]*)$/.exec(text) ?? [];
  declareName(shell, keyword, name, value === undefined ? undefined : unknownValue(false), scope);
}

function declareName(
  shell: Shell,
  keyword: string,
  name: string,
  value: Value | undefined,
  scope: Scope,
): void {
  if (keyword === "unset") setVariable(shell, name, unknownValue(true), scope);
  else if (value !== undefined) setVariable(shell, name, value, scope);
  // What is exported reaches programs, which may do something else because of it.
  if (keyword === "export" && !isHarmlessVariable(name)) {
    scope.tainted ??= `${name} is exported, which may change what programs do`;
    shell.findings.doubt(scope.tainted);
  }
}

function assignedValue(shell: Shell, assignment: Assignment, scope: Scope): Value {
  const word = assignment.value ?? [];
  const [only] = word;
  if (only?.kind === "computed" && only.arithmetic && word.length === 1) {
    checkArithmetic(shell, only.inside, scope);
    return unknownValue(true);
  }
  const value = expandText(shell, word, scope);
  if (!assignment.appends) return value;
  const before = scope.variables.get(assignment.name);
  return before?.text != null && value.text !== null
    ? knownValue(before.text + value.text)
    : unknownValue(true);
}

function setVariable(shell: Shell, name: string, value: Value, scope: Scope): void {
  scope.set(name, value.isPipe ? unknownValue(true) : value);
  if (scope.tainted !== undefined) shell.findings.doubt(scope.tainted);
}
