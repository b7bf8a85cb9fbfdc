import picomatch from "picomatch";
import { z } from "zod";
import { tableFile } from "../files.ts";
import { checkArithmetic, expandedText, expandWord } from "./expand.ts";
import type { Shell } from "./shell.ts";
import type { ShellAssignment, Statement, Word } from "./syntax.ts";
import { knownValue, type Scope, SOME_NUMBER, unknownValue, type Value } from "./value.ts";

/** Variables that hold a number, whatever happens. */
export const NUMBERS: ReadonlySet<string> = new Set([
  ..."?#$!",
  "RANDOM",
  "LINENO",
  "SECONDS",
  "UID",
  "EUID",
  "PPID",
  "BASHPID",
  "EPOCHSECONDS",
  "SHLVL",
  "COLUMNS",
  "LINES",
]);

/** Names that people give to variables with something secret in them: parts of a word, and words of their own. */
const SECRET_PART =
  /password|passwd|passphrase|passwort|secret|token|credential|api_?key|private_?key|access_?key|sshpass/i;
const SECRET_WORD =
  /(?:^|_)(?:keys?|pass|pwd|pw|auth|authorization|private|cookies?|session|pat|dsn|jwt|bearer|otp|totp|pin|cert|certificate|signature|pem|p12|pfx|seed|mnemonic|webhook)(?:_|\d*$)/i;
/** Addresses of services, which hold the password for them as often as not. */
const SECRET_ADDRESS =
  /(?:^|_)(?:database|db|sql|sqlalchemy|pg|postgres\w*|mysql\w*|mariadb|mssql|mongo\w*|redis\w*|valkey|memcached?|amqp|rabbitmq|cloudamqp|broker|celery|queue|kafka|nats|mqtt|elastic\w*|opensearch|clickhouse|cassandra|neo4j|influx\w*|couchdb|supabase|sentry|smtp|imap|mail\w*|ldap|ftp|sftp|s3|proxy|jdbc|odbc|connection|conn|cache)_?(?:\w+_)?(?:url|uri|dsn|string|str|conn|connection|address)(?:_|$)/i;

/** Whether the agent's environment may hold a secret under this name, and the script did not set it itself. */
export function isSecretVariable(name: string, scope: Scope): boolean {
  if (name === "PWD" || name === "OLDPWD" || scope.variables.has(name)) return false;
  return (
    SECRET_PART.test(name) || SECRET_WORD.test(name) || SECRET_ADDRESS.test(name) || /_proxy$/i.test(name)
  );
}

/** What a variable stands for. */
export function variableValue(name: string, scope: Scope): Value {
  if (/^[1-9]\d*$/.test(name)) return scope.positional?.[Number(name) - 1] ?? missingArgument(scope);
  const own = scope.variables.get(name);
  if (own) return own;
  if (name === "HOME") return knownValue(scope.home);
  if (name === "PWD") {
    const [folder, ...others] = scope.folders ?? [];
    return folder !== undefined && others.length === 0 ? knownValue(folder) : unknownValue(true);
  }
  const known = Object.hasOwn(scope.environment, name) ? scope.environment[name] : undefined;
  return known === undefined ? unknownValue(true) : knownValue(known);
}

function missingArgument(scope: Scope): Value {
  return scope.positional === undefined ? unknownValue(true) : knownValue("");
}

const VariableTable = z.strictObject({ harmless: z.array(z.string()), shell: z.array(z.string()) });

const table = tableFile("variables.json", VariableTable);
const harmless = new Set(table.harmless);

/** Whether a program that is known does the same with this variable as without. */
export const isHarmlessVariable = (name: string): boolean => harmless.has(name);

const isListed = picomatch(table.shell);

/** Whether the shell, or programs in general, do something else because of this variable. */
export const isShellVariable = (name: string): boolean => isListed(name) && !harmless.has(name);

/** `NAME=value` on its own: a variable of the shell. */
export function assign(shell: Shell, assignment: ShellAssignment, scope: Scope): void {
  const value = assignedValue(shell, assignment, scope);
  if (isList(assignment.value)) scope.lists.add(assignment.name);
  setVariable(shell, assignment.name, value, scope);
}

/** `NAME=value command`: a variable of the command, which may change what it does. */
export function prefix(
  shell: Shell,
  assignment: ShellAssignment,
  words: readonly Value[],
  scope: Scope,
): void {
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
  if (/^(?:local|declare|typeset)$/.test(keyword))
    for (const name of [...assignments.map((one) => one.name), ...names.map(({ start }) => start)])
      scope.declared.add(name.split("=")[0] ?? "");
  const has = (letters: RegExp): boolean => options.some((option) => letters.test(option.text ?? ""));
  const isArray = has(/^-\w*[aA]/);
  const exports = keyword === "export" || has(/^-\w*x/);
  if (keyword === "unset")
    for (const name of [...assignments.map((one) => one.name), ...names.map(({ start }) => start)])
      unsetFunction(name, has(/^-\w*f/), scope);
  if (names.length + assignments.length === 0) {
    shell.findings.doubt("shows variables, which may hold secrets");
  }
  for (const name of names) {
    if (name.text?.includes("=") && (isArray || scope.lists.size > 0)) checkList(shell, keyword, name, true);
    const [, given = name.text ?? "", text] = /^([A-Za-z_]\w*)\+?=([\s\S]*)$/.exec(name.text ?? "") ?? [];
    const value = text === undefined ? undefined : unknownValue(false);
    declareName(shell, { keyword, exports, name: given, value }, scope);
  }
  for (const one of assignments) {
    const value = one.value === undefined ? undefined : assignedValue(shell, one, scope);
    if (value && !isList(one.value)) checkList(shell, keyword, value, isArray || scope.lists.has(one.name));
    if (isArray || isList(one.value)) scope.lists.add(one.name);
    declareName(shell, { keyword, exports, name: one.name, value }, scope);
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

/** `declare -a NAME='(…)'`: the text becomes a list, and what is in it is expanded once more. */
function checkList(shell: Shell, keyword: string, value: Value, isArray: boolean): void {
  if (isArray && (value.text === null || /[$`[]/.test(value.text)))
    shell.findings.hide(`${keyword} of a list whose text may be evaluated`);
}

/** Without `-f`, a name is that of a variable, and of a function where there is no such variable. */
function unsetFunction(name: string, isFunction: boolean, scope: Scope): void {
  if (!scope.functions.has(name)) return;
  if (isFunction) scope.functions.delete(name);
  else scope.tainted ??= `${name} may or may not be a function`;
}

interface Declared {
  readonly keyword: string;
  readonly exports: boolean;
  readonly name: string;
  readonly value: Value | undefined;
}

function declareName(shell: Shell, { keyword, exports, name, value }: Declared, scope: Scope): void {
  if (keyword === "unset") setVariable(shell, name, unknownValue(true), scope);
  else if (value !== undefined) setVariable(shell, name, value, scope);
  // What is exported reaches programs, which may do something else because of it.
  if (exports && !isHarmlessVariable(name)) {
    scope.tainted ??= `${name} is exported, which may change what programs do`;
    shell.findings.doubt(scope.tainted);
  }
}

function assignedValue(shell: Shell, assignment: ShellAssignment, scope: Scope): Value {
  const word = assignment.value ?? [];
  const [only] = word;
  if (only?.kind === "computed" && only.arithmetic && word.length === 1) {
    checkArithmetic(shell, only.inside, scope);
    for (const name of only.sets ?? []) scope.set(name, unknownValue(true));
    return only.isNumber ? SOME_NUMBER : unknownValue(true);
  }
  const value = expandedText(shell, word, scope);
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
