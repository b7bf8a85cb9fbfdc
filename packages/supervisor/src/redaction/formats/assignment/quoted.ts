import type { Rest } from "../../format.ts";

/** How a string is opened: by a quote, after so many backslashes if it is quoted inside another string. */
export interface Opening {
  readonly quote: string;
  readonly escapes: number;
}

const MOST_ESCAPES = 3;

/** The quote that opens a string at an index; `undefined` if none does. */
export function openingAt(text: string, index: number): Opening | undefined {
  const end = endOfEscapes(text, index);
  const quote = text.charAt(end);
  return quote !== "" && "\"'`".includes(quote) ? { quote, escapes: end - index } : undefined;
}

/** Where the backslashes at an index end. */
export function endOfEscapes(text: string, index: number): number {
  let end = index;
  while (end - index < MOST_ESCAPES && text.charAt(end) === "\\") end += 1;
  return end;
}

/** What is in a string, character by character, until it is closed or its line ends. */
export function insideOf({ quote, escapes }: Opening): Rest {
  const key = `${quote}${escapes}`;
  const known = RESTS.get(key);
  if (known) return known;
  const rest: Rest = {
    goesOn(text, index, final) {
      const one = text.charAt(index);
      if (one === "\n" && escapes === 0 && quote !== "`") return false;
      if (one === quote) return escapes === 0 && backslashesBefore(text, index) % 2 === 1;
      if (one !== "\\" || escapes === 0) return true;
      const before = backslashesBefore(text, index);
      const end = endOfEscapes(text, index);
      if (end === text.length && !final) return undefined;
      return text.charAt(end) !== quote || before + end - index > escapes;
    },
  };
  RESTS.set(key, rest);
  return rest;
}

/** The same rest for the same opening: so it is known which runs are one. */
const RESTS = new Map<string, Rest>();

function backslashesBefore(text: string, index: number): number {
  let start = index;
  while (index - start < 8 && text.charAt(start - 1) === "\\") start -= 1;
  return index - start;
}
