import { JsonError } from "../errors.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LOWER_T = 0x74;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;

/** Makes a value of the spelling of a number. */
export type NumberReader = (source: string) => number | SpelledNumber;

/** How numbers are read. */
export interface ReaderOptions {
  readonly numbers: NumberReader;
  /** Notes which of them are floating point. */
  readonly floats?: Floats | undefined;
}

/** A value, and whether some object of its text names a member twice. */
export interface Read {
  readonly value: unknown;
  readonly hasDuplicates: boolean;
}

/**
 * Reads a text that `JSON.parse` has accepted, and sees how its numbers are spelled. `JSON.parse` with a reviver would
 * see the same at ten times the price. The caller bounds nesting.
 */
export function readSpelled(text: string, options: ReaderOptions): Read {
  const reader = new Reader(text, options);
  const value = reader.value({}, "");
  return { value, hasDuplicates: reader.hasDuplicates };
}

class Reader {
  readonly #text: string;
  readonly #numbers: NumberReader;
  readonly #floats: Floats | undefined;
  hasDuplicates = false;
  #at = 0;
  /** The next backslash, looked for again only when it was passed. */
  #backslash: number;

  constructor(text: string, { numbers, floats }: ReaderOptions) {
    this.#text = text;
    this.#numbers = numbers;
    this.#floats = floats;
    this.#backslash = text.indexOf("\\");
  }

  value(holder: object, key: string | number): unknown {
    switch (this.#peek()) {
      case QUOTE:
        return this.#string();
      case OPEN_BRACE:
        return this.#object();
      case OPEN_BRACKET:
        return this.#array();
      case LOWER_T:
        return this.#word(4, true);
      case LOWER_F:
        return this.#word(5, false);
      case LOWER_N:
        return this.#word(4, null);
      default:
        return this.#number(holder, key);
    }
  }

  #object(): object {
    const object: Record<string, unknown> = {};
    this.#at += 1;
    if (this.#peek() === CLOSE_BRACE) {
      this.#at += 1;
      return object;
    }
    do {
      this.#peek();
      const key = this.#string();
      this.#peek();
      this.#at += 1;
      if (Object.hasOwn(object, key)) {
        this.hasDuplicates = true;
        // The last spelling counts.
        this.#floats?.unmark(object, key);
      }
      const value = this.value(object, key);
      if (key === "__proto__")
        Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
      else object[key] = value;
    } while (this.#goesOn());
    return object;
  }

  #array(): unknown[] {
    const array: unknown[] = [];
    this.#at += 1;
    if (this.#peek() === CLOSE_BRACKET) {
      this.#at += 1;
      return array;
    }
    do array.push(this.value(array, array.length));
    while (this.#goesOn());
    return array;
  }

  /** Passes the comma or the closing bracket, whichever comes. */
  #goesOn(): boolean {
    const isComma = this.#peek() === COMMA;
    this.#at += 1;
    return isComma;
  }

  #string(): string {
    const start = this.#at + 1;
    let quote = this.#text.indexOf('"', start);
    if (this.#backslash >= 0 && this.#backslash < start) this.#backslash = this.#text.indexOf("\\", start);
    if (this.#backslash < 0 || this.#backslash > quote) {
      this.#at = quote + 1;
      return this.#text.slice(start, quote);
    }
    for (let backslash = this.#backslash; backslash >= 0 && backslash < quote; ) {
      const after = backslash + 2;
      if (quote < after) quote = this.#text.indexOf('"', after);
      backslash = this.#text.indexOf("\\", after);
      this.#backslash = backslash;
    }
    this.#at = quote + 1;
    return String(JSON.parse(this.#text.slice(start - 1, this.#at)));
  }

  #number(holder: object, key: string | number): unknown {
    const start = this.#at;
    while (isOfNumber(this.#text.charCodeAt(this.#at))) this.#at += 1;
    const source = this.#text.slice(start, this.#at);
    this.#floats?.note(holder, key, source);
    return this.#numbers(source);
  }

  #word<Word>(length: number, word: Word): Word {
    this.#at += length;
    return word;
  }

  /** The next character that is no white space. */
  #peek(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.#at += 1;
      code = this.#text.charCodeAt(this.#at);
    }
    return code;
  }
}

/** A digit, a sign, a dot or an exponent's letter. */
function isOfNumber(code: number): boolean {
  return (code >= 0x2b && code <= 0x39 && code !== COMMA && code !== 0x2f) || (code | 0x20) === 0x65;
}

/**
 * A number that JavaScript cannot hold: `JSON.stringify` writes it with the digits it came with. It is the engine's own
 * carrier (`JSON.rawJSON`), so that every package recognizes it by `JSON.isRawJSON` and none needs a class of ours.
 */
export interface SpelledNumber {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    rawJSON(text: string): SpelledNumber;
    isRawJSON(value: unknown): value is SpelledNumber;
  }
}

/** The number of a JSON spelling: a plain one if writing it again gives the same number, else one that keeps its digits. */
export function exactNumber(source: string): number | SpelledNumber {
  const value = Number(source);
  return isExact(value, source) ? value : JSON.rawJSON(source);
}

/** The number of a JSON spelling: a plain one if JavaScript would spell it so, else one that keeps its spelling. */
export function spelledNumber(source: string): number | SpelledNumber {
  const value = Number(source);
  return String(value) === source ? value : JSON.rawJSON(source);
}

/** Whether a value is a number that JavaScript cannot hold. */
export function isSpelledNumber(value: unknown): value is SpelledNumber {
  return JSON.isRawJSON(value);
}

/** Whether writing `value` gives a number equal to the one `source` spells. */
function isExact(value: number, source: string): boolean {
  const written = String(value);
  if (written === source) return true;
  if (!Number.isFinite(value) || Object.is(value, -0)) return false;
  // No double is written with more digits, so what has more of them, zeros apart, is another number.
  const left = decimalOf(source);
  const right = decimalOf(written);
  return left.digits === right.digits && left.exponent === right.exponent && left.negative === right.negative;
}

/** A decimal number without the zeros around it: 0.`digits` × 10^`exponent`. */
interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

const ZERO = 0x30;

function decimalOf(source: string): Decimal {
  const negative = source.startsWith("-");
  const marker = source.search(/[eE]/);
  const mantissa = source.slice(negative ? 1 : 0, marker < 0 ? undefined : marker);
  const dot = mantissa.indexOf(".");
  const whole = dot < 0 ? mantissa : mantissa.slice(0, dot);
  const all = dot < 0 ? whole : whole + mantissa.slice(dot + 1);
  let start = 0;
  let end = all.length;
  while (start < end && all.charCodeAt(start) === ZERO) start += 1;
  while (end > start && all.charCodeAt(end - 1) === ZERO) end -= 1;
  if (start === end) return { negative, digits: "", exponent: 0 };
  const exponent = (marker < 0 ? 0 : Number(source.slice(marker + 1))) + whole.length - start;
  return { negative, digits: all.slice(start, end), exponent };
}

/**
 * Remembers which numbers of a parsed text AHP peers read as floating point. `JSON.parse` turns `1.0`, `1e3`
 * and `-0` into numbers that look like integers, and an integer field must refuse them. What has a fraction shows it.
 */
export class Floats {
  readonly #keys = new WeakMap<object, Set<string | number>>();

  /** Marks the member `key` of `holder` if its spelling is that of a float with a whole value. */
  note(holder: object, key: string | number, source: string): void {
    const value = Number(source);
    if (!Number.isFinite(value)) throw new JsonError("number_out_of_range", "number out of range");
    if (!Number.isInteger(value) || !isFloat(source)) return;
    const keys = this.#keys.get(holder);
    if (keys) keys.add(key);
    else this.#keys.set(holder, new Set([key]));
  }

  /** Forgets a member that is named again. */
  unmark(holder: object, key: string): void {
    this.#keys.get(holder)?.delete(key);
  }

  /** Whether that member was spelled as a floating-point number with a whole value; array elements by their index. */
  has(holder: object, key: string): boolean {
    return this.#keys.get(holder)?.has(Array.isArray(holder) ? Number(key) : key) ?? false;
  }
}

const LEAST_I64 = -(2n ** 63n);
const GREATEST_U64 = 2n ** 64n - 1n;
/** No 64-bit integer has more characters, and reading a longer one as a bigint would take more than linear time. */
const LONGEST_I64 = 20;

function isFloat(source: string): boolean {
  if (source === "-0" || /[.eE]/.test(source)) return true;
  if (source.length < 19) return false;
  if (source.length > LONGEST_I64) return true;
  const integer = BigInt(source);
  return integer < LEAST_I64 || integer > GREATEST_U64;
}
