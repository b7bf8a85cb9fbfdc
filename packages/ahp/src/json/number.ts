/**
 * A number that JavaScript cannot hold: `JSON.stringify` writes it with the digits it came with. It is the engine's own
 * carrier (`JSON.rawJSON`), so that every package can tell it by `JSON.isRawJSON` and none needs a class of ours.
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
