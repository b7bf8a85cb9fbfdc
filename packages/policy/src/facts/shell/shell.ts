import { posix } from "node:path";
import type { Findings, Target } from "../findings.ts";
import { isWithin } from "../path/places.ts";
import type { ParseText } from "./reader/reader.ts";
import type { Statement } from "./syntax.ts";
import type { Folders, Scope, Value } from "./value.ts";

/** What the parts of the shell share while one command line is gone through. */
export interface Shell {
  readonly findings: Findings;
  readonly parse: ParseText;
  /** Goes through a statement; what it finds is in `findings`, what it changes in the scope. */
  run(statement: Statement, scope: Scope): void;
  /** Reads a text as a script of its own and goes through it: `bash -c`, `eval`, `trap`. */
  runText(text: Value, scope: Scope, why: string): void;
  /** Goes through a program whose words are expanded already: what `env`, `xargs` and their like start. */
  runWords(words: readonly Value[], scope: Scope, input?: Input): void;
  /** The same for what may be a function, too: the shell itself runs it. */
  runCommand(words: readonly Value[], scope: Scope, input?: Input): void;
  /** The scopes at each `break`, `continue` and `return`: what follows them may not have happened. */
  readonly jumps: Scope[];
}

/** What a command reads from its standard input. */
export interface Input {
  /** The text of a here-document or here-string, if that is where it comes from. */
  readonly text?: Value | undefined;
  /** The paths that come by a pipe, if that is known. */
  readonly found?: Found | undefined;
}

/** What a program prints that finds files. */
export interface Found {
  readonly values: readonly Value[];
  /** Whether a NUL ends each path, and not a line's end. */
  readonly endsWithNul: boolean;
}

/** Where the shell may be after a statement that succeeded, and after one that failed. */
export interface Outcome {
  readonly success: Folders;
  readonly failure: Folders;
}

/** A word as the path it names. A path that may have become a link since the script began has an unknown target. */
export function target(value: Value, scope: Scope): Target {
  const { text, pattern } = value;
  const base = scope.folders;
  if (text === null || (scope.moved.length > 0 && passesMoved(value, text, scope)))
    return { text: null, base, ...(text === null && value.start !== "" && { start: value.start }) };
  return {
    text,
    pattern,
    base,
    isLiteral: true,
    mayBeOption: pattern !== undefined && /^[-*?[]/.test(text),
  };
}

function passesMoved(value: Value, text: string, scope: Scope): boolean {
  const isGlob = value.pattern !== undefined;
  return placesOf(text, scope).some((place) => {
    const path = isGlob ? tidied(place.replace(/[^/]*[*?[].*$/, "")) : tidied(place);
    return scope.moved.some(
      (moved) =>
        (isWithin(path, moved.path) && (moved.itself || path !== moved.path)) ||
        (isGlob && isWithin(moved.path, path)),
    );
  });
}

/** Notes that a path, or what lies below it, may lead anywhere from now on. */
export function noteMoved(value: Value, scope: Scope, itself: boolean): void {
  const places = value.text === null ? ["/"] : placesOf(value.text, scope);
  scope.moved.push(...places.map((place) => ({ path: tidied(place), itself })));
}

function placesOf(text: string, scope: Scope): readonly string[] {
  return text.startsWith("/") ? [text] : (scope.folders ?? ["/"]).map((folder) => `${folder}/${text}`);
}

function tidied(path: string): string {
  return posix.normalize(path).replace(/(.)\/$/, "$1");
}
