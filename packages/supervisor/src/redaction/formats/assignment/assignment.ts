import { CONTEXT, type Format, NO, OPEN, type Reading, type Rest, type Trigger } from "../../format.ts";
import { BLANK, type CharacterSet, characters, QUOTE } from "../../notation/character-set.ts";
import { runOf } from "../pattern-format.ts";
import { type AssignedName, assignedName, STRONG_WORDS, WEAK_WORDS, WHOLE_WORDS } from "./assigned-name.ts";
import { isSecretValue, mayBeSecretValue, type Writing } from "./assigned-value.ts";
import { endOfEscapes, insideOf, openingAt } from "./quoted.ts";

/** As much of a value as is looked at before it is judged. */
const LOOK = 96;
const LONGEST_SUFFIX = 40;
const SUFFIX = characters("A-Za-z0-9_-");
const CLOSING = characters("\"'`\\]\\\\*?");
const COLOUR = characters("\\[0-9;");
const EMPHASIS = characters("*");
const SIGN = characters(":=>");
const BARE = characters("^\\s\"'`,;&<>(){}\\[\\]|\\\\\u001b").ofAlphabets();
const SHELL = characters("^\\s\"'`;&<>|\\\\\u001b").ofAlphabets();
const ELEMENT = characters("^<\\n\u001b");
const BARE_REST = runOf(characters("^\\s\"'`,;&<>(){}\\[\\]|\\\\.!?:\u001b").ofAlphabets(), ".!?:");
const ELEMENT_REST = runOf(ELEMENT);
const SHELL_REST = runOf(SHELL);
/** A type between a name and what is assigned to it. */
const TYPE = /^(?:[&*]?str|string|String|text|varchar|any|SecretStr)$/;

/** What stands before a name whose value is the next word: `--password …`, `login ann password …`. */
const TAKES_NEXT = /(?:^|[\s"'=(])(?:--(?:[A-Za-z0-9]+[-_])*|login\s+[\w.@-]{1,20}\s+)$/;

/** What stands before the name of a user in an address, whose password is another format's. */
const IN_ADDRESS = /:\/\/[\w.-]*$/;

/** Where a value begins, and how it is written. */
interface Beginning {
  readonly from: number;
  readonly writing: Writing;
  readonly isElement?: boolean;
}

/** Values that are assigned to names of secrets, in the ways of shells, JSON, YAML, TOML, XML and programs. */
export const assignments: readonly Format[] = [
  assignmentTo(STRONG_WORDS, true),
  assignmentTo(WEAK_WORDS, false),
  { ...assignmentTo(WHOLE_WORDS, false, true), notAfter: characters("A-Za-z0-9_") },
];

function assignmentTo(triggers: readonly Trigger[], strong: boolean, whole = false): Format {
  return {
    name: "assignment",
    triggers,
    reach: LONGEST_SUFFIX + 128 + LOOK + 16,
    read(text, start, at, final) {
      const end = SUFFIX.endOfRun(text, at, at + LONGEST_SUFFIX);
      if (end === text.length && !final) return OPEN;
      if (whole && end > at) return NO;
      const beginning = beginningOf(text, start, end);
      if (beginning === "open") return final ? NO : OPEN;
      if (beginning === "none") return NO;
      return readValue(text, beginning, assignedName(strong, text.slice(at, end)), final);
    },
  };
}

/** Where the value begins that follows a name. */
function beginningOf(text: string, start: number, end: number): Beginning | "none" | "open" {
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

function readValue(
  text: string,
  { from, writing, isElement }: Beginning,
  name: AssignedName,
  final: boolean,
): Reading {
  if (isElement) return readRun(text, from, name, { set: ELEMENT, rest: ELEMENT_REST, writing, final });
  if (openingAt(text, from))
    return readQuoted(text, from, name, writing === "shell" ? "shell" : "quoted", final);
  if (writing === "shell") return readRun(text, from, name, { set: SHELL, rest: SHELL_REST, writing, final });
  return readBare(text, from, name, final);
}

function readQuoted(text: string, at: number, name: AssignedName, writing: Writing, final: boolean): Reading {
  const opening = openingAt(text, at);
  if (!opening) return NO;
  const from = at + opening.escapes + 1;
  const rest = insideOf(opening);
  let end = from;
  let goesOn: boolean | undefined = true;
  while (end < text.length && end - from < LOOK) {
    goesOn = rest.goesOn(text, end, final);
    if (!goesOn) break;
    end += 1;
  }
  const value = text.slice(from, end);
  if (goesOn !== false && !final && value.length < LOOK)
    return { is: "open", from, hide: mayBeSecretValue(value, name, writing) ? from : undefined };
  if (!isSecretValue(value, name, writing)) return NO;
  return { is: "secret", from, to: end, rest: goesOn === false ? undefined : rest };
}

function readBare(text: string, from: number, name: AssignedName, final: boolean): Reading {
  const end = BARE.endOfRun(text, from, from + LOOK);
  const value = text.slice(from, end);
  if (value.length === LOOK)
    return isSecretValue(value, name, "bare") ? { is: "secret", from, to: end, rest: BARE_REST } : NO;
  const kept = value.replace(/[.!?:]+$/, "");
  if (!final && end === text.length)
    return { is: "open", from, hide: mayBeSecretValue(kept, name, "bare") ? from : undefined };
  const next = text.charAt(end);
  if (next !== "" && "([{<".includes(next)) return NO;
  if (QUOTE.has(text.charCodeAt(end)) && /^[bfru@$]{1,2}$/i.test(value))
    return readQuoted(text, end, name, "quoted", final);
  if (TYPE.test(value)) return readTyped(text, end, name, final);
  return isSecretValue(kept, name, "bare") ? { is: "secret", from, to: from + kept.length } : NO;
}

/** `password: string = "…"`. */
function readTyped(text: string, end: number, name: AssignedName, final: boolean): Reading {
  const sign = BLANK.endOfRun(text, end, end + 4);
  if (sign < text.length && text.charAt(sign) !== "=") return NO;
  const value = BLANK.endOfRun(text, sign + 1, sign + 5);
  if (value >= text.length) return final ? NO : OPEN;
  return QUOTE.has(text.charCodeAt(value)) ? readQuoted(text, value, name, "quoted", final) : NO;
}

/** How a value goes on that has no quotes around it. */
interface Unquoted {
  readonly set: CharacterSet;
  readonly rest: Rest;
  readonly writing: Writing;
  readonly final: boolean;
}

function readRun(
  text: string,
  from: number,
  name: AssignedName,
  { set, rest, writing, final }: Unquoted,
): Reading {
  const end = set.endOfRun(text, from, from + LOOK);
  const value = text.slice(from, end);
  if (!final && end === text.length && value.length < LOOK)
    return { is: "open", from, hide: mayBeSecretValue(value, name, writing) ? from : undefined };
  if (!isSecretValue(value, name, writing)) return NO;
  return { is: "secret", from, to: end, rest: value.length === LOOK ? rest : undefined };
}
