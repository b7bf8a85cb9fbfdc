import type { SpelledNumber } from "./numbers.ts";

/** Matches numbers that JavaScript may not represent; most texts have none and take the fast path. */
const DELICATE = /(?:^|[[:,\s])-?(?:\d+[.eE]|\d{16}|0(?<=-0))/;

/**
 * Parses JSON of a server that is trusted. A number that JavaScript cannot represent keeps its digits, so that a client
 * shows the number that an approval binds. Small, for browsers; those without `context.source` read the nearest number.
 */
export function parseLossless(text: string): unknown {
  return DELICATE.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

function keepDigits(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined || !("rawJSON" in JSON)) return value;
  const raw: SpelledNumber = JSON.rawJSON(context.source);
  return isExact(value, context.source) ? value : raw;
}

/** Short fractions (times, shares, money) are accepted as numbers; only numbers that would lose digits stay raw. */
function isExact(value: number, source: string): boolean {
  if (String(value) === source) return true;
  const digits = source
    .replace(/[eE].*$/, "")
    .replace(/\D/g, "")
    .replace(/^0+|0+$/g, "");
  return Number.isFinite(value) && !Object.is(value, -0) && digits.length <= 15;
}
