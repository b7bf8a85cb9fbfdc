/** Why a text is not JSON that is accepted. The last two are faults for AHP alone. */
export type JsonFault =
  | "syntax"
  | "too_deep"
  | "too_many_members"
  | "duplicate_member"
  | "number_out_of_range"
  | "lone_surrogate";

/** Thrown by every reader of JSON; `fault` is for programs, `message` for people. */
export class JsonError extends Error {
  override readonly name = "JsonError";
  readonly fault: JsonFault;

  constructor(fault: JsonFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }

  /** The error of a text in which an object has a member twice. */
  static duplicate(name: string): JsonError {
    return new JsonError(
      "duplicate_member",
      `an object has the member ${JSON.stringify(name.slice(0, 80))} twice`,
    );
  }
}

/** The deepest nesting of arrays and objects that an AHP peer accepts. */
export const MAX_NESTING = 127;

/** What one pass over the text tells before it is parsed. */
export interface Scan {
  /** Members of objects, by their colons; fewer in the parsed value means duplicate keys. */
  readonly members: number;
  /** Whether some number is not a plain integer that JavaScript holds exactly. */
  readonly delicateNumbers: boolean;
  /** Whether the name of some member is written with an escape, which `JSON.parse` may misread. */
  readonly escapedNames: boolean;
}

/** What a scan accepts. */
interface ScanOptions {
  readonly maxNesting: number;
  /** Whether an escape may be half of a surrogate pair. */
  readonly loneSurrogates: boolean;
}

const OF_AHP: ScanOptions = { maxNesting: MAX_NESTING, loneSurrogates: false };

const QUOTE = 0x22;
const BACKSLASH = "\\";
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COLON = 0x3a;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_U = 0x75;

/** The longest run of digits that is certainly a safe integer. */
const SAFE_DIGITS = 15;

/**
 * Walks the text once without building anything. It bounds nesting before `JSON.parse` sees the text, and notes what
 * `JSON.parse` would hide: duplicate keys, names with escapes, and how numbers were spelled. It judges no syntax; a text
 * that is not JSON passes through to `JSON.parse`.
 */
export function scan(text: string, { maxNesting, loneSurrogates }: ScanOptions = OF_AHP): Scan {
  let members = 0;
  let delicateNumbers = false;
  let escapedNames = false;
  let depth = 0;
  let index = 0;
  // Both are looked for again only when they were passed; else every escape would cost the rest of the text.
  let nextBackslash = text.indexOf(BACKSLASH);
  let nextQuote = -1;
  const end = text.length;
  while (index < end) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      index += 1;
      let isEscaped = false;
      for (;;) {
        if (nextQuote < index) nextQuote = text.indexOf('"', index);
        if (nextQuote < 0) return { members, delicateNumbers, escapedNames };
        if (nextBackslash >= 0 && nextBackslash < index) nextBackslash = text.indexOf(BACKSLASH, index);
        if (nextBackslash < 0 || nextBackslash > nextQuote) {
          index = nextQuote + 1;
          break;
        }
        isEscaped = true;
        index = loneSurrogates ? nextBackslash + 2 : skipEscape(text, nextBackslash);
      }
      if (isEscaped && !escapedNames) escapedNames = isName(text, index);
      continue;
    }
    if (code >= ZERO && code <= NINE) {
      const start = index;
      do index += 1;
      while (isDigit(text, index));
      const next = index < end ? text.charCodeAt(index) | 0x20 : 0;
      if (index - start > SAFE_DIGITS || next === 0x65 || text.charCodeAt(index) === DOT)
        delicateNumbers = true;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      if (depth > maxNesting) {
        throw new JsonError("too_deep", `nested deeper than ${maxNesting} arrays and objects`);
      }
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
    else if (code === COLON) members += 1;
    else if (code === MINUS && text.charCodeAt(index + 1) === ZERO) delicateNumbers = true;
    index += 1;
  }
  return { members, delicateNumbers, escapedNames };
}

/** Whether the string that ends before `end` is the name of a member. */
export function isName(text: string, end: number): boolean {
  let index = end;
  while (isSpace(text.charCodeAt(index))) index += 1;
  return text.charCodeAt(index) === COLON;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isDigit(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= ZERO && code <= NINE;
}

/** The index after the escape at `backslash`; a surrogate must come as a pair. */
function skipEscape(text: string, backslash: number): number {
  if (text.charCodeAt(backslash + 1) !== LOWER_U) return backslash + 2;
  const unit = escapedUnit(text, backslash);
  if (!(unit >= 0xd800 && unit <= 0xdfff)) return backslash + 6;
  const low = text.startsWith("\\u", backslash + 6) ? escapedUnit(text, backslash + 6) : 0;
  if (unit >= 0xdc00 || !(low >= 0xdc00 && low <= 0xdfff)) {
    throw new JsonError("lone_surrogate", "a string holds half of a surrogate pair");
  }
  return backslash + 12;
}

function escapedUnit(text: string, backslash: number): number {
  return Number.parseInt(text.slice(backslash + 2, backslash + 6), 16);
}
