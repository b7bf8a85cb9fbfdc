import type { Findings, Target } from "../findings.ts";
import { checkArithmetic, expandWord, runInside } from "./expand.ts";
import { foundPaths } from "./programs/find.ts";
import { endsInput } from "./programs/words.ts";
import { type ParseText, readScript } from "./reader/reader.ts";
import { applyRedirects, isKnownProgram, runProgram } from "./run-program.ts";
import type { Found, Input, Outcome, Shell } from "./shell.ts";
import type { Redirect, Script, Statement, Word } from "./syntax.ts";
import { type Folders, type Scope, SOME_NUMBER, union, unknownValue, type Value } from "./value.ts";
import { assign, declare, prefix } from "./variable.ts";

const NESTING_LIMIT = 24;
const STATEMENT_LIMIT = 4_000;
/** How many programs may run one another by their words, as `env sudo nice ls` does: each looks at all words after it. */
const WRAPPING_LIMIT = 64;

/**
 * Goes through a script as a shell would, without running anything: what each simple command does is put into
 * findings. Where a shell would have to choose, all ways are gone; what is known only at run time stays unknown.
 */
export class Interpreter implements Shell {
  readonly findings: Findings;
  readonly parse: ParseText;
  #nesting = 0;
  #wrapping = 0;
  #statements = 0;
  /** What comes by the pipe to the command that is run next. */
  #piped: Found | undefined;
  readonly #called = new Set<Statement>();
  readonly jumps: Scope[] = [];

  constructor(findings: Findings, parse: ParseText) {
    this.findings = findings;
    this.parse = parse;
  }

  /** Goes through a whole command line. Functions that it defines and never calls are gone through as well. */
  runScript(text: string, scope: Scope): void {
    this.#runRead(readScript(text, this.parse), scope);
    for (const body of scope.functions.values()) {
      if (this.#called.has(body)) continue;
      const inside = scope.copy();
      inside.positional = undefined;
      this.run(body, inside);
    }
    this.#runTraps(scope);
    const fills = this.findings.isLong && this.findings.found.some(({ kind }) => kind === "write");
    if (this.findings.isEndless || fills)
      this.findings.doubt("it may go on without end, and fill what it writes to");
  }

  /** A trap runs at some later time, when what the script changes may have changed or not. */
  #runTraps(scope: Scope): void {
    const { texts, changed, moves } = scope.traps;
    for (const text of texts) {
      const inside = scope.copy();
      inside.forget(changed);
      if (moves) inside.folders = undefined;
      this.runText(text, inside, "a trap that is only known at run time");
    }
  }

  #runRead(script: Script, scope: Scope): void {
    for (const why of script.unclear) this.findings.hide(why);
    this.run(script.body, scope);
  }

  runText(text: Value, scope: Scope, why: string): void {
    if (text.text === null || text.pattern !== undefined) this.findings.hide(why);
    else if (this.#nesting >= NESTING_LIMIT) this.findings.hide("the command is nested too deep");
    else {
      this.#nesting += 1;
      this.#runRead(readScript(text.text, this.parse), scope);
      this.#nesting -= 1;
    }
  }

  runWords(words: readonly Value[], scope: Scope, input: Input = {}): void {
    if (this.#wrapping >= WRAPPING_LIMIT) {
      this.findings.hide("the command is nested too deep");
      return;
    }
    this.#wrapping += 1;
    runProgram(this, words, scope, input);
    this.#wrapping -= 1;
  }

  runCommand(words: readonly Value[], scope: Scope, input: Input = {}): void {
    this.#runCommandWords(words, scope, input);
  }

  run(statement: Statement, scope: Scope): void {
    this.#run(statement, scope);
  }

  #run(statement: Statement, scope: Scope): Outcome {
    this.#statements += 1;
    if (this.#statements > STATEMENT_LIMIT || this.findings.isFull) {
      this.findings.hide("the command does too many things to follow");
      return here(scope);
    }
    switch (statement.kind) {
      case "command":
        return this.#runCommand(statement, scope);
      case "sequence": {
        let outcome = here(scope);
        for (const one of statement.statements) outcome = this.#run(one, scope);
        return outcome;
      }
      case "list":
        return this.#runList(statement, scope);
      case "pipeline":
        return this.#runPipeline(statement.statements, scope);
      case "subshell":
        this.#run(statement.body, scope.copy());
        return here(scope);
      case "negation": {
        const { success, failure } = this.#run(statement.body, scope);
        return { success: failure, failure: success };
      }
      case "redirected":
        applyRedirects(this, statement.redirects, scope);
        return this.#run(statement.body, scope);
      case "branch":
        return this.#runBranch(statement.tests, statement.bodies, scope);
      case "loop":
        runLoop(this, statement, scope);
        return here(scope);
      case "function":
        this.#define(statement.name, statement.body, scope);
        return here(scope);
      case "declaration":
        declare(this, statement, scope);
        return here(scope);
      case "test":
        for (const word of statement.words) {
          if (statement.arithmetic) checkArithmetic(this, word, scope);
          else runInside(this, word, scope);
        }
        for (const name of statement.sets ?? []) scope.set(name, SOME_NUMBER);
        return here(scope);
    }
  }

  #runCommand(command: Statement & { kind: "command" }, scope: Scope): Outcome {
    const found = this.#piped;
    this.#piped = undefined;
    const words = command.words.flatMap((word) => expandWord(this, word, scope));
    const from = this.findings.found.length;
    const redirected = applyRedirects(this, command.redirects, scope);
    const input = command.redirects.length === 0 ? { found } : redirected;
    if (words.length === 0) {
      for (const one of command.assignments) assign(this, one, scope);
      return here(scope);
    }
    for (const one of command.assignments) prefix(this, one, words, scope);
    const outcome = this.#runCommandWords(words, scope, input);
    if (command.redirects.length > 0) this.#noteFeedback(from);
    return outcome;
  }

  /** What adds to a file that it reads, `tee -a log < log`, may find no end of it. */
  #noteFeedback(from: number): void {
    const found = this.findings.found.slice(from);
    const read = new Set(found.map((one) => (one.kind === "read" && !one.deep ? nameOf(one.target) : null)));
    const grows = found.some((one) => {
      const name = one.kind === "write" && one.destroys === "never" && !one.deep ? nameOf(one.target) : null;
      return name !== null && read.has(name);
    });
    if (grows) this.findings.isEndless = true;
  }

  #runCommandWords(words: readonly Value[], scope: Scope, input: Input): Outcome {
    const [name, ...rest] = words;
    const body = name?.text === null || name === undefined ? undefined : scope.functions.get(name.text);
    if (body === undefined) return runProgram(this, words, scope, input) ?? here(scope);
    if (this.#nesting >= NESTING_LIMIT) {
      this.findings.hide("a function that calls itself");
      return here(scope);
    }
    this.#called.add(body);
    this.#nesting += 1;
    const { positional, declared } = scope;
    const from = this.jumps.length;
    scope.positional = rest.some((value) => value.many) ? undefined : rest;
    scope.declared = new Set();
    const outcome = this.#run(body, scope);
    const returned = this.jumps.length > from;
    for (const jump of this.jumps.slice(from)) scope.join(jump);
    scope.forget(scope.declared);
    scope.declared = declared;
    scope.positional = positional;
    this.#nesting -= 1;
    return returned ? here(scope) : outcome;
  }

  #define(name: string, body: Statement, scope: Scope): void {
    if (scope.functions.has(name)) this.findings.hide(`the function ${name} is defined twice`);
    scope.functions.set(name, body);
    // A function shadows a program: later calls of the program run the function.
    if (isKnownProgram(name)) this.findings.hide(`${name} is given another meaning`);
  }

  #runList(list: Statement & { kind: "list" }, scope: Scope): Outcome {
    const first = this.#run(list.first, scope);
    const before = scope.copy();
    scope.folders = orElse(list.needs ? first.success : first.failure, before.folders);
    const second = this.#run(list.second, scope);
    scope.join(before);
    const outcome = list.needs
      ? { success: second.success, failure: union(first.failure, second.failure) }
      : { success: union(first.success, second.success), failure: second.failure };
    scope.folders = orElse(union(outcome.success, outcome.failure), before.folders);
    return outcome;
  }

  /** Every part has a shell of its own, save that some shells run the last one themselves. */
  #runPipeline(statements: readonly Statement[], scope: Scope): Outcome {
    const from = this.findings.found.length;
    for (const [index, one] of statements.entries()) {
      const inside = scope.copy();
      const { isEndless, isLong } = this.findings;
      const before = statements[index - 1];
      this.#piped = one.kind === "command" && before ? this.#printed(before, scope) : undefined;
      this.#run(one, inside);
      // What prints without end is stopped by who reads only the beginning.
      const isCut = statements.some(
        (later, at) =>
          at > index && isHead(later) && endsInput(textsOf(later), statements.slice(0, at).flatMap(textsOf)),
      );
      if (isCut) {
        this.findings.isEndless = isEndless;
        this.findings.isLong = isLong;
      }
      if (index === statements.length - 1 && statements.length > 1) scope.join(inside);
    }
    this.#noteFeedback(from);
    return here(scope);
  }

  /** What a part of a pipeline prints, where it is a plain `find`. */
  #printed(statement: Statement, scope: Scope): Found | undefined {
    if (statement.kind !== "command" || statement.assignments.length + statement.redirects.length > 0) return;
    if (scope.tainted !== undefined || scope.functions.has("find")) return undefined;
    if (!statement.words.flat().every(({ kind }) => kind === "text")) return undefined;
    const [name, ...words] = statement.words.flatMap((word) => expandWord(this, word, scope.copy()));
    return name?.text === "find" ? foundPaths(words) : undefined;
  }

  #runBranch(tests: readonly Statement[], bodies: readonly Statement[], scope: Scope): Outcome {
    for (const [index, test] of tests.entries()) {
      const untested = scope.copy();
      this.#run(test, scope);
      if (index > 0) scope.join(untested);
    }
    const before = scope.copy();
    for (const body of bodies) {
      const inside = before.copy();
      this.#run(body, inside);
      scope.join(inside);
    }
    return here(scope);
  }
}

/** After `exit` there is no folder any more; but what follows it is gone through all the same. */
function orElse(folders: Folders, otherwise: Folders): Folders {
  return folders?.length === 0 ? otherwise : folders;
}

function isHead(statement: Statement): boolean {
  if (statement.kind === "redirected") return isHead(statement.body);
  const [part, ...rest] = statement.kind === "command" ? (statement.words[0] ?? []) : [];
  return part?.kind === "text" && part.text === "head" && rest.length === 0;
}

/** The words of a command as they are written, as far as they are plain, and the files it reads. */
function textsOf(statement: Statement): readonly string[] {
  if (statement.kind === "redirected") return [...textsOf(statement.body), ...filesOf(statement.redirects)];
  if (statement.kind !== "command") return [];
  return [...statement.words.map(plainText), ...filesOf(statement.redirects)];
}

function filesOf(redirects: readonly Redirect[]): readonly string[] {
  return redirects.flatMap((one) => (one.kind === "text" ? [] : [plainText(one.target)]));
}

function plainText(word: Word): string {
  return word.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/** A path as it is written, from where it starts. */
function nameOf({ text, base }: Target): string | null {
  return text === null ? null : `${base?.join(":")} ${text.replace(/^(?:\.\/)+/, "")}`;
}

function here(scope: Scope): Outcome {
  return { success: scope.folders, failure: scope.folders };
}

/** Loops over more words than this are gone through with the word unknown. */
const TURN_LIMIT = 16;

/** A loop over known words is gone through word by word; any other until nothing changes, or is known, any more. */
function runLoop(shell: Shell, loop: Statement & { kind: "loop" }, scope: Scope): void {
  const values = loop.values.flatMap((word) => expandWord(shell, word, scope));
  const before = scope.copy();
  if (loop.values.some(isVast)) shell.findings.isLong = true;
  const isListed = values.length <= TURN_LIMIT && values.every((value) => value.text !== null);
  if (loop.variable !== undefined && isListed) {
    const from = shell.jumps.length;
    for (const value of values) {
      // A glob stands for many turns, and each sees what those before it changed.
      if (value.pattern !== undefined) repeat(shell, loop, value, scope);
      else {
        scope.set(loop.variable, value);
        shell.run(loop.body, scope);
      }
      for (const jump of shell.jumps.slice(from)) scope.join(jump);
    }
  } else {
    repeat(shell, loop, unknownValue(true), scope);
    const hasEnd = loop.variable !== undefined || endsWithInput(loop.test);
    if (!hasEnd) shell.findings.isLong = true;
  }
  scope.join(before);
}

/** Whether a loop ends with its input. */
function endsWithInput(test: Statement | undefined): boolean {
  const only = test?.kind === "sequence" && test.statements.length === 1 ? test.statements[0] : test;
  const [part] = only?.kind === "command" ? (only.words[0] ?? []) : [];
  return part?.kind === "text" && part.text === "read";
}

/** `{1..1000000000}`: more words than anybody writes down. */
function isVast(word: Word): boolean {
  return word.some(
    (part) => part.kind === "text" && !part.quoted && /\d{7,}\.\.|\.\.-?\d{7,}/.test(part.text),
  );
}

/** Goes round until one more turn would find nothing new; each makes more of what it changes unknown. */
function repeat(shell: Shell, loop: Statement & { kind: "loop" }, value: Value, scope: Scope): void {
  for (let isSettled = false; !isSettled; ) {
    const before = scope.copy();
    const [moved, from] = [scope.moved.length, shell.jumps.length];
    if (loop.test) shell.run(loop.test, scope);
    if (loop.variable !== undefined) scope.set(loop.variable, value);
    shell.run(loop.body, scope);
    for (const jump of shell.jumps.slice(from)) scope.join(jump);
    if (loop.variable !== undefined) before.variables.set(loop.variable, value);
    // What one turn changed may be anything after many.
    const folders = scope.folders?.join("\0") === before.folders?.join("\0") ? scope.folders : undefined;
    scope.join(before);
    scope.folders = folders;
    isSettled = (scope.isLike(before) && scope.moved.length === moved) || shell.findings.isFull;
  }
}
