import { type Format, NO, OPEN, type Reading, type Rest, type Trigger } from "../../format.ts";
import { BLANK, type CharacterSet, characters, QUOTE } from "../../notation/character-set.ts";
import { runOf } from "../pattern-format.ts";
import { type AssignedName, assignedName, STRONG_WORDS, WEAK_WORDS, WHOLE_WORDS } from "./assigned-name.ts";
import { isSecretValue, mayBeSecretValue, type Writing } from "./assigned-value.ts";
import { insideOf, openingAt } from "./quoted.ts";
import { type Beginning, beginningOf, LONGEST_GAP } from "./value-beginning.ts";

/** As much of a value as is looked at before it is judged. */
const LOOK = 96;
const LONGEST_SUFFIX = 40;
const SUFFIX = characters("A-Za-z0-9_-");
const BARE = characters("^\\s\"'`,;&<>(){}\\[\\]|\\\\\u001b").ofAlphabets();
const SHELL = characters("^\\s\"'`;&<>|\\\\\u001b").ofAlphabets();
const ELEMENT = characters("^<\\n\u001b");
const BARE_REST = runOf(characters("^\\s\"'`,;&<>(){}\\[\\]|\\\\.!?:\u001b").ofAlphabets(), ".!?:");
const ELEMENT_REST = runOf(ELEMENT);
const SHELL_REST = runOf(SHELL);
/** A type between a name and what is assigned to it. */
const TYPE = /^(?:[&*]?str|string|String|text|varchar|any|SecretStr)$/;

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
    reach: LONGEST_SUFFIX + LONGEST_GAP + 2 * LOOK,
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
