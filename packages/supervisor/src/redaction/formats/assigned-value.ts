import { CONTEXT, MARK, type Rest } from "../format.ts";
import { BLANK, characters } from "../notation.ts";
import type { AssignedName } from "./assignment.ts";

/** How a value is written: between quotes, bare, or as a shell has it in `NAME=value`. */
export type Writing = "quoted" | "bare" | "shell";

/** Whether a value, or the first of it, is a secret, given the name it is assigned to. */
export function isSecretValue(value: string, name: AssignedName, writing: Writing): boolean {
  if (value.length < (name.strong || writing === "shell" ? 6 : 8)) return false;
  if (value.includes(MARK) || standsForAnother(value, writing) || isPlace(value)) return false;
  if (isOfCode(value, writing)) return false;
  if (isDrawn(value)) return true;
  if (!name.plain) return false;
  if (writing === "shell") return true;
  if (!name.strong && PUBLIC.test(value)) return false;
  if (NAMED.test(value) && !(/\d/.test(value) && SPECIAL.test(value))) return false;
  if (/\s/.test(value)) return name.strong && /\d/.test(value) && SPECIAL.test(value);
  if (/^[\d.,_]+$/.test(value)) return name.strong && /^\d+$/.test(value);
  if (/\d/.test(value)) return /\p{L}/u.test(value);
  if (!name.strong) return false;
  return SPECIAL.test(value) || (writing === "quoted" && /^[a-z]{8,}$/.test(value) && !COMMON.has(value));
}

/** Whether a value has begun in a way that is better not shown before the rest of it is known. */
export function mayBeSecretValue(begun: string, name: AssignedName, writing: Writing): boolean {
  if (isSecretValue(begun, name, writing)) return true;
  if (!name.strong || !name.plain || writing === "bare") return false;
  return (
    begun !== "" && !/^[)\]},;]|[\s[\]]/.test(begun) && !standsForAnother(begun, writing) && !isPlace(begun)
  );
}

const SPECIAL = /[!@#$%^&*~+=?]/;
const NAMED = /passw|secret|token|api.?key|credential|passphrase/i;
/** The address of a crypto token; a name with a number, as `spacing-4`. */
const PUBLIC = /^0x[0-9a-f]{40}$|^[a-z]+(?:[-_.][a-z]+)*[-_.]\d{1,3}$/i;

/** Words that describe a secret in schemas, forms and messages. */
const COMMON = new Set(
  (
    "anonymous argument blank boolean changed datetime default disabled encrypted enabled example expired external " +
    "forgotten function generated hashed hidden identifier incorrect integer internal invalid masked missing mismatch " +
    "nullable optional placeholder plaintext property protected readonly redacted reference required rotated " +
    "sensitive temporary undefined unchanged unknown username variable verified writeonly"
  ).split(" "),
);

/** A variable, a template, a hole to be filled in. */
function standsForAnother(value: string, writing: Writing): boolean {
  if (REFERENCES.some((reference) => reference.test(value)) || value.includes("${") || value.includes("{{"))
    return true;
  return writing === "bare" && /^[<[(*@&!]/.test(value);
}

const REFERENCES = [
  /^(?:\$[A-Za-z_{(]|%[A-Za-z_({]|#\{|\{)/,
  /^[<[(][\w .:/-]*[>\])]?$/,
  /^(?:•|…|\.\.\.|-----|x{3,}(?![a-z0-9])|your[-_ ])/i,
  /^(.)\1*$/,
];

/** A path, an address, a date. */
function isPlace(value: string): boolean {
  if (/^[a-z][a-z+.-]*:\/\//i.test(value) || /^\d{4}-\d\d-\d\d/.test(value)) return true;
  return /^@?(?:~|\.{1,2})?(?:\/[\w.@+-]+)+\/?$/.test(value) && !/[A-Za-z0-9+]{20}/.test(value);
}

/** Letters and digits as chance mixes them. */
function isDrawn(value: string): boolean {
  const run = /[A-Za-z0-9]{16,}/.exec(value)?.[0] ?? "";
  return /\d[^\d]*\d/.test(run) && /[A-Za-z]\d*[A-Za-z]/.test(run) && !PUBLIC.test(value);
}

/** Members of members, as `process.env.TOKEN`, types with a number, as `Uint8Array`, and `getToken2`. */
function isOfCode(value: string, writing: Writing): boolean {
  if (/^(?:process\.env|import\.meta|os\.environ|env\.)/.test(value)) return true;
  if (writing !== "bare" || (value.match(/[A-Za-z]\d|\d[A-Za-z]/g)?.length ?? 0) > 3) return false;
  if (/^[A-Z][a-z]+\d*[A-Z][a-z]+$/.test(value)) return true;
  if (!/^[\p{L}_$][\w$]*(?:(?:\.|->|::|\?\.)[\p{L}_$][\w$]*)*$/u.test(value)) return false;
  return /[.>:]/.test(value) || NAMED.test(value);
}

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
function endOfEscapes(text: string, index: number): number {
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

/** Between a name and its value there is no more. */
export const LONGEST_GAP = 192;
const CLOSING = characters("\"'`\\]\\\\*?");
const COLOUR = characters("\\[0-9;");
const EMPHASIS = characters("*");
const SIGN = characters(":=>");
/** What precedes a name whose value is the next word: `--password …`, `login ann password …`. */
const TAKES_NEXT = /(?:^|[\s"'=(])(?:--(?:[A-Za-z0-9]+[-_])*|login\s+[\w.@-]{1,20}\s+)$/;

/** What precedes the name of a user in an address, whose password is another format's. */
const IN_ADDRESS = /:\/\/[\w.-]*$/;

/** Where a value begins, and how it is written. */
export interface Beginning {
  readonly from: number;
  readonly writing: Writing;
  readonly isElement?: boolean;
}

/** Where the value begins that follows a name; `open` if that depends on more text. */
export function beginningOf(text: string, start: number, end: number): Beginning | "none" | "open" {
  if (text.charAt(end) === ">" && /<[\w:.-]*$/.test(before(text, start))) {
    if (end + 1 === text.length) return "open";
    return text.charAt(end + 1) === "@" ? "none" : { from: end + 1, writing: "quoted", isElement: true };
  }
  const closed = CLOSING.endOfRun(text, end, end + 6);
  const sign = endOfBlank(text, closed);
  if (sign === text.length) return "open";
  const value = SIGN.endOfRun(text, sign, sign + 3);
  if (value === sign) {
    return sign === end + 1 && TAKES_NEXT.test(before(text, start))
      ? { from: sign, writing: "bare" }
      : "none";
  }
  const signs = text.slice(sign, value);
  if (
    signs.startsWith(">") ||
    signs.startsWith("::") ||
    (signs === ":" && IN_ADDRESS.test(before(text, start)))
  )
    return "none";
  const from = endOfBlank(text, EMPHASIS.endOfRun(text, value, value + 2));
  if (endOfEscapes(text, from) === text.length) return "open";
  if (signs.startsWith("==") && !openingAt(text, from)) return "none";
  const isShell = signs === "=" && closed === end && from === value && isCapital(text, start, end);
  return { from, writing: isShell && sign === end ? "shell" : "bare" };
}

/** Where blanks end, and changes of colour between them. */
function endOfBlank(text: string, from: number): number {
  let index = from;
  for (let changes = 0; changes < 4; changes += 1) {
    index = BLANK.endOfRun(text, index, from + 8 + 8 * changes);
    if (text.charAt(index) !== "\u001b") break;
    const end = COLOUR.endOfRun(text, index + 1, index + 12);
    if (end === text.length) return end;
    if (text.charAt(end) !== "m") break;
    index = end + 1;
  }
  return index;
}

function before(text: string, start: number): string {
  return text.slice(Math.max(0, start - CONTEXT), start);
}

function isCapital(text: string, start: number, end: number): boolean {
  return !/[a-z]/.test(text.slice(start, end));
}
