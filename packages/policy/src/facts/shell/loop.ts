import { expandWord } from "./expand.ts";
import type { Scope } from "./scope.ts";
import type { Shell } from "./shell.ts";
import type { Statement, Word } from "./syntax.ts";
import { unknownValue, type Value } from "./value.ts";

/** Loops over more words than this are gone through with the word unknown. */
const TURN_LIMIT = 16;

/** A loop over known words is gone through word by word; any other until nothing changes, or is known, any more. */
export function runLoop(shell: Shell, loop: Statement & { kind: "loop" }, scope: Scope): void {
  const before = scope.copy();
  const values = loop.values.flatMap((word) => expandWord(shell, word, scope));
  if (loop.values.some(isVast)) shell.findings.isLong = true;
  const isListed = values.length <= TURN_LIMIT && values.every((value) => value.text !== null);
  if (loop.variable !== undefined && isListed) {
    for (const value of values) {
      scope.set(loop.variable, value);
      shell.run(loop.body, scope);
    }
  } else {
    repeat(shell, loop, oneFor(values), scope);
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

function oneFor(values: readonly Value[]): Value {
  const [only] = values;
  return only && values.length === 1 && only.pattern !== undefined ? only : unknownValue(true);
}

function repeat(shell: Shell, loop: Statement & { kind: "loop" }, value: Value, scope: Scope): void {
  const turn = (): void => {
    if (loop.test) shell.run(loop.test, scope);
    if (loop.variable !== undefined) scope.set(loop.variable, value);
    shell.run(loop.body, scope);
  };
  const before = scope.copy();
  turn();
  if (loop.variable !== undefined) before.variables.set(loop.variable, value);
  if (scope.isLike(before)) return;
  // What one turn changed may be anything after many.
  const folders = scope.folders?.join("\0") === before.folders?.join("\0") ? scope.folders : undefined;
  scope.join(before);
  scope.folders = folders;
  turn();
  scope.join(before);
  scope.folders = folders;
}
