import { errorMessage, JsonError } from "../errors.ts";
import {
  exactNumber,
  Floats,
  type NumberReader,
  type Read,
  type ReaderOptions,
  readSpelled,
  spelledNumber,
} from "./numbers.ts";

/** The deepest nesting of arrays and objects that an AHP peer accepts. */
export const MAX_NESTING = 127;

/** What walks through a value by recursion, `JSON.stringify` among it, gets to the end of one that is nested so deep. */
const DEEPEST = 512;

/**
 * The most members that the objects of a text have together. Objects with more keys than an engine keeps in order cost
 * far more than their length: a message of this many takes a fraction of a second, one of ten times as many blocks the
 * process.
 */
const MAX_MEMBERS = 200_000;

/** The most values that a text has, items of lists included: the smallest take most time for their length. */
const MAX_VALUES = 2_000_000;

/** A parsed text, with what the plain value no longer shows. */
export interface ParsedJson {
  readonly value: unknown;
  /** Numbers spelled as floating point; absent when every number is a plain integer or has a fraction. */
  readonly floats: Floats | undefined;
  /** Whether some object names a key twice (the last one won). */
  readonly duplicateKeys: boolean;
}

/** Parses JSON as strictly as AHP peers do; throws {@link JsonError}. Duplicate keys are reported, not refused. */
export function parseJson(text: string): ParsedJson {
  if (!text.isWellFormed()) throw new JsonError("lone_surrogate", "the text holds half of a surrogate pair");
  const scanned = scan(text);
  refuseLoneSurrogates(text);
  const floats = scanned.delicateNumbers ? new Floats() : undefined;
  const { value, hasDuplicates } = parseScanned(text, scanned, { numbers: exactNumber, floats });
  return { value, floats, duplicateKeys: hasDuplicates };
}

/** A value, and the path of a member that some object of its text has twice. */
interface ReadJson {
  readonly value: unknown;
  /** The last of both is in the value. Another reader may have taken the first. */
  readonly duplicate: string | undefined;
}

/**
 * Reads any JSON from outside. Numbers that JavaScript cannot hold keep their digits (`JSON.isRawJSON`), and
 * `JSON.stringify` writes them as they came; with `spelledNumber` every number is written as it came. Throws
 * {@link JsonError} for what is no JSON, nested too deep, or has too many members or values.
 */
export function readJson(text: string, numbers: NumberReader = exactNumber, deepest = DEEPEST): ReadJson {
  const { value, hasDuplicates } = parseScanned(text, scan(text, deepest), { numbers });
  return { value, duplicate: hasDuplicates ? (duplicateIn(text) ?? "") : undefined };
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

/** A JSON object, as it came. */
export type JsonObject = Record<string, unknown>;

/** Receives a message. The next one is delivered when the promise settles; until then hardly more is read. */
export type MessageListener = (message: JsonObject) => void | Promise<void>;

/** Whether a value is an object with members: neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Parses a text that was scanned. V8 takes a name with an escape in it for one that it has seen at the same place in an
 * earlier object, if that has a backslash where the escape begins: `{"a":1,"\n":2}` after `{"a":1,"\\":2}` has no member
 * `\n`. A text with such names is read by our own reader, as one with numbers that JavaScript cannot hold.
 */
function parseScanned(
  text: string,
  { members, values, delicateNumbers, escapedNames }: Scan,
  options: ReaderOptions,
): Read {
  if (members > MAX_MEMBERS)
    throw new JsonError("too_many_members", `the objects have more than ${MAX_MEMBERS} members`);
  if (values > MAX_VALUES)
    throw new JsonError("too_many_values", `the text has more than ${MAX_VALUES} values`);
  try {
    const value: unknown = JSON.parse(text);
    if (delicateNumbers || escapedNames) return readSpelled(text, options);
    return { value, hasDuplicates: countMembers(value) !== members };
  } catch (error) {
    if (error instanceof JsonError) throw error;
    throw new JsonError("syntax", errorMessage(error), { cause: error });
  }
}

/** The members of all objects in a value that `JSON.parse` made. */
function countMembers(value: unknown): number {
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object") count += countMembers(item);
  } else if (isRecord(value)) {
    // Nothing is inherited that a loop over the keys would meet, and a list of them would cost more than the parsing.
    for (const key in value) {
      const item = value[key];
      count += typeof item === "object" ? 1 + countMembers(item) : 1;
    }
  }
  return count;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COLON = 0x3a;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_E = 0x65;

/** What one pass over a text shows before it is parsed. */
interface Scan {
  /** Members of objects, by their colons; fewer in the parsed value means duplicate keys. */
  readonly members: number;
  /** Values, by the commas between them and what opens lists and objects; as many as there are or a few less. */
  readonly values: number;
  /** Whether `JSON.stringify` may spell some number in another way. */
  readonly delicateNumbers: boolean;
  /** Whether the name of some member is written with an escape, which `JSON.parse` may misread. */
  readonly escapedNames: boolean;
}

/**
 * Walks the text once without building anything. It bounds nesting before `JSON.parse` sees the text, and notes what
 * `JSON.parse` would hide: duplicate keys, names with escapes, and how numbers were spelled. It judges no syntax; a text
 * that is not JSON passes through to `JSON.parse`.
 */
export function scan(text: string, maxNesting = MAX_NESTING): Scan {
  let members = 0;
  let values = 0;
  let delicateNumbers = false;
  let escapedNames = false;
  let depth = 0;
  let index = 0;
  let stringStart = 0;
  let stringEnd = 0;
  // Looked for again only when a name has passed it, so that all searches together pass over the text once.
  let nextBackslash = text.indexOf("\\");
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      stringStart = index;
      stringEnd = endOfString(text, index);
      if (stringEnd === 0) break;
      index = stringEnd;
      continue;
    }
    if (code >= ZERO && code <= NINE) {
      const end = endOfDigits(text, index);
      const next = text.charCodeAt(end);
      if (next === DOT || (next | 0x20) === LOWER_E || end - index > SAFE_DIGITS) {
        const fractionEnd = next === DOT ? endOfDigits(text, end + 1) : end;
        delicateNumbers ||= !isPlainDecimal(text, index, end, fractionEnd);
        index = fractionEnd;
      } else index = end;
      continue;
    }
    if (code === COLON) {
      members += 1;
      if (nextBackslash >= 0) {
        if (nextBackslash < stringStart) nextBackslash = text.indexOf("\\", stringStart);
        if (nextBackslash >= 0 && nextBackslash < stringEnd) escapedNames = true;
      }
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      values += 1;
      if (depth > maxNesting)
        throw new JsonError("too_deep", `nested deeper than ${maxNesting} arrays and objects`);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
    else if (code === COMMA) values += 1;
    else if (code === MINUS && text.charCodeAt(index + 1) === ZERO) delicateNumbers = true;
    index += 1;
  }
  return { members, values, delicateNumbers, escapedNames };
}

/** The longest run of digits that is certainly a safe integer. */
const SAFE_DIGITS = 15;
/** JavaScript spells a number with at most this many digits on either side of the dot as JSON does. */
const PLAIN_WHOLE = 9;
const PLAIN_FRACTION = 6;

/** Whether digits, a dot and digits are a fraction that is short enough to be spelled in the same way again. */
function isPlainDecimal(text: string, start: number, dot: number, end: number): boolean {
  const fraction = end - dot - 1;
  if (fraction < 1 || fraction > PLAIN_FRACTION || dot - start > PLAIN_WHOLE) return false;
  return text.charCodeAt(end - 1) !== ZERO && (text.charCodeAt(end) | 0x20) !== LOWER_E;
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  let code = text.charCodeAt(end);
  while (code >= ZERO && code <= NINE) {
    end += 1;
    code = text.charCodeAt(end);
  }
  return end;
}

/** The index after the closing quote of the string that opens at `start`; 0 if none closes it. */
function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote >= 0 && text.charCodeAt(quote - 1) === BACKSLASH && isEscaped(text, quote))
    quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

function isEscaped(text: string, index: number): boolean {
  let before = index;
  while (text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
  return (index - before) % 2 === 1;
}

/** Refuses a text with an escape that is half of a surrogate pair. */
function refuseLoneSurrogates(text: string): void {
  if (!SURROGATE.test(text)) return;
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at)) {
    const unit = escapedUnit(text, at);
    const isPair = unit < 0xdc00 && isLowSurrogate(escapedUnit(text, at + 6));
    if (unit >= 0xd800 && unit <= 0xdfff && !isPair)
      throw new JsonError("lone_surrogate", "a string holds half of a surrogate pair");
    at += unit >= 0xd800 && isPair ? 12 : 2;
  }
}

const SURROGATE = /\\u[dD][89a-fA-F]/;

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** The code unit of the escape `\uXXXX` at a position; not a number for anything else. */
function escapedUnit(text: string, backslash: number): number {
  return text.startsWith("\\u", backslash)
    ? Number.parseInt(text.slice(backslash + 2, backslash + 6), 16)
    : Number.NaN;
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

/** The longest path that is named, in characters. */
const LONGEST_PATH = 500;

/** The path of the first member that an object of a well-formed JSON text has twice. */
function duplicateIn(text: string): string | undefined {
  const known: Set<string>[] = [];
  for (const { name, path, isFirst } of namesIn(text)) {
    if (isFirst) known[path.length] = new Set();
    if (known[path.length]?.has(name)) return [...path, name].join(".").slice(0, LONGEST_PATH);
    known[path.length]?.add(name);
  }
  return undefined;
}

/**
 * The names of all members in order, with where their object is and whether they are the first in it. The path is the same
 * list every time.
 */
function* namesIn(
  text: string,
): Generator<{ name: string; depth: number; path: readonly (string | number)[]; isFirst: boolean }> {
  const structure = /["{}[\],]/g;
  const colon = /[ \n\r\t]*:/y;
  const path: (string | number)[] = [];
  /** The member or the item that comes in each object or list that is open; a new object has none. */
  const open: (string | number | undefined)[] = [];
  for (let match = structure.exec(text); match; match = structure.exec(text)) {
    const token = match[0];
    const last = open.length - 1;
    const at = open[last];
    if (token === "{" || token === "[") {
      if (last >= 0) path.push(at ?? "");
      open.push(token === "[" ? 0 : undefined);
    } else if (token === "}" || token === "]") {
      open.pop();
      path.pop();
    } else if (token === ",") {
      if (typeof at === "number") open[last] = at + 1;
    } else {
      const end = endOfString(text, match.index);
      structure.lastIndex = end;
      colon.lastIndex = end;
      if (!colon.test(text)) continue;
      const name = String(JSON.parse(text.slice(match.index, end)));
      yield { name, depth: open.length, path, isFirst: at === undefined };
      open[last] = name;
    }
  }
}

/** The limits of a payload that an agent sends. */
export const PAYLOAD_LIMITS = { depth: 64, members: 50_000, characters: 8 * 1_024 * 1_024 };

/** Whether a value is within {@link PAYLOAD_LIMITS}. */
export function isModest(value: unknown): boolean {
  return excessOf(value) === undefined;
}

/** The limit of payloads that a value exceeds, in words, if it exceeds one; a circle is too deep. */
export function excessOf(value: unknown): string | undefined {
  const { members, characters } = PAYLOAD_LIMITS;
  return excessIn({ members, characters }, value, 0);
}

const COUNT = new Intl.NumberFormat("en");
const TOO_DEEP = `nested too deep: more than ${COUNT.format(PAYLOAD_LIMITS.depth)} levels`;
const TOO_MANY = `too large: more than ${COUNT.format(PAYLOAD_LIMITS.members)} members`;
const TOO_LONG = `too large: more than ${COUNT.format(PAYLOAD_LIMITS.characters)} characters`;

/** Takes a value from what is left of the limits; the one that it exceeds. */
function excessIn(
  left: { members: number; characters: number },
  value: unknown,
  depth: number,
): string | undefined {
  left.members -= 1;
  if (typeof value === "string") left.characters -= value.length;
  if (depth > PAYLOAD_LIMITS.depth) return TOO_DEEP;
  if (left.members < 0) return TOO_MANY;
  if (left.characters < 0) return TOO_LONG;
  if (typeof value !== "object" || value === null) return undefined;
  for (const member of Object.values(value)) {
    const excess = excessIn(left, member, depth + 1);
    if (excess !== undefined) return excess;
  }
  return undefined;
}

/**
 * An amount that another party reports: at least zero, at most the largest exact integer, and rounded where JavaScript
 * cannot hold it. `undefined` for anything else, so that no report is a credit.
 */
export function amountOf(value: unknown): number | undefined {
  const amount = JSON.isRawJSON(value) ? Number(value.rawJSON) : value;
  if (typeof amount !== "number" || !(amount >= 0)) return undefined;
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
}
