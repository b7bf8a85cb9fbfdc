import { errorMessage } from "../errors.ts";
import { Floats, readSpelled } from "./read.ts";
import { JsonError, scan } from "./scan.ts";

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
/** Shorter texts cannot hold so many. */
const SURELY_FEW = MAX_MEMBERS * '"":0,'.length;

/** Parses JSON as strictly as AHP peers do; throws {@link JsonError}. */
export function parseJson(text: string): ParsedJson {
  if (!text.isWellFormed()) throw new JsonError("lone_surrogate", "the text holds half of a surrogate pair");
  const { members, delicateNumbers } = scan(text);
  if (members > MAX_MEMBERS)
    throw new JsonError("too_many_members", `the objects have more than ${MAX_MEMBERS} members`);
  const floats = delicateNumbers ? new Floats() : undefined;
  const value = parseValue(text, floats);
  return { value, floats, duplicateKeys: countMembers(value) !== members };
}

function parseValue(text: string, floats: Floats | undefined): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return floats ? readSpelled(text, floats) : value;
  } catch (error) {
    if (error instanceof JsonError) throw error;
    throw new JsonError("syntax", errorMessage(error), { cause: error });
  }
}

/** What no number that JavaScript holds looks like; most texts have nothing of the kind and are parsed the fast way. */
const DELICATE = /(?:^|[[:,\s])-?(?:\d+[.eE]|\d{16}|0(?<=-0))/;

/** What walks through a value by recursion, `JSON.stringify` among it, gets to the end of one that is nested so deep. */
const DEEPEST = 512;

/**
 * Parses any JSON; numbers that JavaScript cannot hold keep their digits (`JSON.isRawJSON`), and `JSON.stringify` writes
 * them as they came. Throws a `SyntaxError` for what is no JSON, and a `RangeError` for what is nested too deep, or has
 * too many members, to read.
 */
export function parseExact(text: string, deepest = DEEPEST): unknown {
  if (text.length > 2 * deepest && isDeeperThan(text, deepest))
    throw new RangeError(`nested deeper than ${deepest} arrays and objects`);
  if (text.length > SURELY_FEW && mayHoldMembers(text) > MAX_MEMBERS)
    throw new RangeError(`the objects have more than ${MAX_MEMBERS} members`);
  const value: unknown = JSON.parse(text);
  return DELICATE.test(text) ? readSpelled(text) : value;
}

/** Whether a text nests arrays and objects deeper than a bound. The parser itself has none, and what comes after it does. */
function isDeeperThan(text: string, bound: number): boolean {
  let depth = 0;
  let isInText = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0x22) isInText = !isInText;
    else if (isInText) index += code === 0x5c ? 1 : 0;
    else if (code === 0x5b || code === 0x7b) depth += 1;
    else if (code === 0x5d || code === 0x7d) depth -= 1;
    if (depth > bound) return true;
  }
  return false;
}

/** How many members a text may hold: keys end with a quote that is not escaped, before a colon. */
function mayHoldMembers(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(/[^\\]"\s*:/g)) {
    count += 1;
    if (count > MAX_MEMBERS) break;
  }
  return count;
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
  const structure = /["{}[\]]/g;
  let depth = 0;
  for (let match = structure.exec(text); match; match = structure.exec(text)) {
    const token = match[0];
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else {
      const end = endOfString(text, match.index);
      structure.lastIndex = end;
      if (depth !== 1 || !isKey(text, end)) continue;
      const key = String(JSON.parse(text.slice(match.index, end)));
      if (seen.has(key)) duplicates.add(key);
      seen.add(key);
    }
  }
  return duplicates;
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

function isKey(text: string, end: number): boolean {
  const colon = /\s*:/y;
  colon.lastIndex = end;
  return colon.test(text);
}
