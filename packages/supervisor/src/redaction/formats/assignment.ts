import { type Format, NO, OPEN, type Reading, type Rest, type Trigger, triggerOf } from "../format.ts";
import { BLANK, type CharacterSet, characters, QUOTE } from "../notation.ts";
import {
  type Beginning,
  beginningOf,
  insideOf,
  isSecretValue,
  LONGEST_GAP,
  mayBeSecretValue,
  openingAt,
  type Writing,
} from "./assigned-value.ts";
import { runOf } from "./pattern-format.ts";

/** What the name says that a value is assigned to. */
export interface AssignedName {
  /** Whether such a name is rarely given to anything but a secret: `password`, not `token`. */
  readonly strong: boolean;
  /** Whether the word for the secret is the end of it: `db_password`, not `password_label`. */
  readonly plain: boolean;
}

const SECRETS = ["password", "passwd", "passphrase", "pwd", "secret", "credential", "credentials"];
const KEYS =
  "access account admin api auth deploy encryption master private role service shared signing storage subscription webhook";
const JOINTS = "_. -";

/** Words in names of secrets, each as a trigger. */
const STRONG_WORDS: readonly Trigger[] = [
  ...SECRETS.map((word) => triggerOf(word, true)),
  ...KEYS.split(" ").flatMap((kind) => {
    const [first, last] = [triggerOf(kind, true), triggerOf("key", true)];
    const joint = [...JOINTS].map((one) => one.charCodeAt(0));
    return [
      [...first, ...last],
      [...first, joint, ...last],
    ];
  }),
];
const STRONG = new RegExp(
  `${SECRETS.toReversed().join("|")}|(?:${KEYS.replaceAll(" ", "|")})[${JOINTS}]?key`,
  "gi",
);

const OFTEN_SECRET = ["token", "authorization", "_auth", "_pass", "_pw"];
/** Words in names of secrets, and of much else. */
const WEAK_WORDS: readonly Trigger[] = OFTEN_SECRET.map((word) => triggerOf(word, true));
const WEAK = new RegExp(OFTEN_SECRET.join("|"), "gi");

/** Words that name a secret only by themselves. */
const WHOLE_WORDS: readonly Trigger[] = [triggerOf("pass", true)];
const WHOLE = /^pass$/gi;

const STILL_PLAIN =
  /^(?:[_-]?(?:\d|value|key|access|text|string|raw|data|prod|dev|test|staging|live|default|old|new|current|base64|b64))*$/i;

/** A name, by the word found in it and what follows that word. */
function assignedName(strong: boolean, suffix: string): AssignedName {
  return { strong, plain: STILL_PLAIN.test(suffix) };
}

/** What a member's name says of its value; `undefined` if that it is no secret. */
function nameOfMember(member: string): AssignedName | undefined {
  const strong = endOfLast(STRONG, member);
  const end = strong ?? endOfLast(WEAK, member) ?? endOfLast(WHOLE, member);
  return end === undefined ? undefined : assignedName(strong !== undefined, member.slice(end));
}

function endOfLast(words: RegExp, name: string): number | undefined {
  const last = [...name.matchAll(words)].at(-1);
  return last && last.index + last[0].length;
}

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

/** Whether a member of an object is a secret, because of what it is called; or may be, if its value is not whole. */
export function isSecretMember(member: string, value: string, isWhole: boolean): boolean {
  const name = NAMES.get(member) ?? nameFor(member);
  if (name === "harmless") return false;
  if (name === "cookie") return /^[\w.-]+=[\w.%+/~-]/.test(value);
  const judge = isWhole ? isSecretValue : mayBeSecretValue;
  return judge(value.slice(0, LOOK), name, "quoted");
}

/** Whether a member's name says that its value may be a secret. */
export function namesSecret(member: string): boolean {
  return nameFor(member) !== "harmless";
}

type MemberName = AssignedName | "cookie" | "harmless";

/** What all the words have in common, to be quick about other names. */
const SUSPECT = /pass|pwd|secret|credential|key|token|auth|_pw|cookie/i;

/** What is known of names, because the same come again and again. */
const NAMES = new Map<string, MemberName>();
const MOST_NAMES = 2_000;
const LONGEST_NAME = 64;

function nameFor(member: string): MemberName {
  const name = readName(member);
  if (member.length <= LONGEST_NAME && NAMES.size < MOST_NAMES) NAMES.set(member, name);
  return name;
}

function readName(member: string): MemberName {
  if (!SUSPECT.test(member)) return "harmless";
  return /cookie$/i.test(member) ? "cookie" : (nameOfMember(member) ?? "harmless");
}
