import { errorMessage } from "../errors.ts";
import {
  exactNumber,
  Floats,
  type NumberReader,
  type ReaderOptions,
  readSpelled,
  spelledNumber,
} from "./read.ts";
import { isName, JsonError, type Scan, scan } from "./scan.ts";

/** A parsed text, with what the plain value no longer shows. */
export interface ParsedJson {
  readonly value: unknown;
  /** Numbers spelled as floating point; absent when every number is a plain integer. */
  readonly floats: Floats | undefined;
  /** Whether some object names a key twice (the last one won). */
  readonly duplicateKeys: boolean;
}

/**
 * The most members that the objects of a text have together. Objects with more keys than an engine keeps in order cost
 * far more than their length: a message of this many takes a fraction of a second, one of ten times as many blocks the
 * process.
 */
const MAX_MEMBERS = 200_000;

/** Parses JSON as strictly as AHP peers do; throws {@link JsonError}. Duplicate keys are reported, not refused. */
export function parseJson(text: string): ParsedJson {
  if (!text.isWellFormed()) throw new JsonError("lone_surrogate", "the text holds half of a surrogate pair");
  const scanned = scan(text);
  const floats = scanned.delicateNumbers ? new Floats() : undefined;
  const value = parseScanned(text, scanned, { numbers: exactNumber, floats });
  return { value, floats, duplicateKeys: countMembers(value) !== scanned.members };
}

/** What walks through a value by recursion, `JSON.stringify` among it, gets to the end of one that is nested so deep. */
const DEEPEST = 512;

/** A value, and the name of a member that some object of its text has twice. */
interface ReadJson {
  readonly value: unknown;
  /** The last of both is in the value. Another reader may have taken the first. */
  readonly duplicate: string | undefined;
}

/**
 * Reads any JSON from outside. Numbers that JavaScript cannot hold keep their digits (`JSON.isRawJSON`), and
 * `JSON.stringify` writes them as they came; with `spelledNumber` every number is written as it came. Throws
 * {@link JsonError} for what is no JSON, nested too deep, or has too many members.
 */
export function readJson(text: string, numbers: NumberReader = exactNumber, deepest = DEEPEST): ReadJson {
  const scanned = scan(text, { maxNesting: deepest, loneSurrogates: true });
  const value = parseScanned(text, scanned, { numbers });
  return {
    value,
    duplicate: countMembers(value) === scanned.members ? undefined : (duplicateIn(text) ?? ""),
  };
}

/** {@link readJson} for borders: a text in which an object has a member twice is refused. */
export function parseExact(text: string, deepest?: number): unknown {
  return withoutDuplicate(readJson(text, exactNumber, deepest));
}

/** {@link parseExact}, but every number is written again as it was spelled. */
export function parseSpelled(text: string): unknown {
  return withoutDuplicate(readJson(text, spelledNumber));
}

function withoutDuplicate({ value, duplicate }: ReadJson): unknown {
  if (duplicate === undefined) return value;
  throw JsonError.duplicate(duplicate);
}

/**
 * Parses a text that was scanned. V8 takes a name with an escape in it for one that it has seen at the same place in an
 * earlier object, if that has a backslash where the escape begins: `{"a":1,"\n":2}` after `{"a":1,"\\":2}` has no member
 * `\n`. A text with such names is read by our own reader, as one with numbers that JavaScript cannot hold.
 */
function parseScanned(
  text: string,
  { members, delicateNumbers, escapedNames }: Scan,
  options: ReaderOptions,
): unknown {
  if (members > MAX_MEMBERS)
    throw new JsonError("too_many_members", `the objects have more than ${MAX_MEMBERS} members`);
  try {
    const value: unknown = JSON.parse(text);
    return delicateNumbers || escapedNames ? readSpelled(text, options) : value;
  } catch (error) {
    if (error instanceof JsonError) throw error;
    throw new JsonError("syntax", errorMessage(error), { cause: error });
  }
}

function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null || JSON.isRawJSON(value)) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item);
    return count;
  }
  // Nothing is inherited that a loop over the keys would meet, and a list of them would cost more than the parsing.
  for (const key in value) count += 1 + countMembers(Reflect.get(value, key));
  return count;
}

/** Keys that the outermost object of a well-formed JSON text names more than once. */
export function duplicatesAtTop(text: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const duplicates = new Set<string>();
  for (const { name, depth } of namesIn(text)) {
    if (depth !== 1) continue;
    if (seen.has(name)) duplicates.add(name);
    seen.add(name);
  }
  return duplicates;
}

/** The first name that an object of a well-formed JSON text has twice. */
function duplicateIn(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (const { name, depth, isFirst } of namesIn(text)) {
    if (isFirst) open[depth] = new Set();
    if (open[depth]?.has(name)) return name;
    open[depth]?.add(name);
  }
  return undefined;
}

/** The names of all members in order, with the depth of their object and whether they are the first in it. */
function* namesIn(text: string): Generator<{ name: string; depth: number; isFirst: boolean }> {
  const structure = /["{}[\]]/g;
  let depth = 0;
  let isFirst = true;
  for (let match = structure.exec(text); match; match = structure.exec(text)) {
    const token = match[0];
    if (token === "{" || token === "[") {
      depth += 1;
      isFirst = true;
    } else if (token === "}" || token === "]") {
      depth -= 1;
      isFirst = false;
    } else {
      const end = endOfString(text, match.index);
      structure.lastIndex = end;
      if (!isName(text, end)) continue;
      yield { name: String(JSON.parse(text.slice(match.index, end))), depth, isFirst };
      isFirst = false;
    }
  }
}

/** The index after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

function isEscaped(text: string, index: number): boolean {
  let before = index;
  while (text[before - 1] === "\\") before -= 1;
  return (index - before) % 2 === 1;
}
