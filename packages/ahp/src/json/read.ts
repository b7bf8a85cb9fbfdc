import type { Floats } from "./floats.ts";
import { exactNumber } from "./number.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LOWER_T = 0x74;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;

/**
 * Reads a text that `JSON.parse` has accepted, and sees how its numbers are spelled: those that JavaScript cannot hold
 * keep their digits. `JSON.parse` with a reviver would see the same at ten times the price. The caller bounds nesting.
 */
export function readSpelled(text: string, floats?: Floats): unknown {
  return new Reader(text, floats).value({}, "");
}

class Reader {
  readonly #text: string;
  readonly #floats: Floats | undefined;
  #at = 0;
  /** The next backslash, looked for again only when it was passed. */
  #backslash: number;

  constructor(text: string, floats: Floats | undefined) {
    this.#text = text;
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
      // A key that comes twice: what counts is how the last one was spelled.
      if (Object.hasOwn(object, key)) this.#floats?.unmark(object, key);
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
    return exactNumber(source);
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
