import { type Trigger, triggerOf } from "../../format.ts";

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
export const STRONG_WORDS: readonly Trigger[] = [
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
export const WEAK_WORDS: readonly Trigger[] = OFTEN_SECRET.map((word) => triggerOf(word, true));
const WEAK = new RegExp(OFTEN_SECRET.join("|"), "gi");

/** Words that name a secret only by themselves. */
export const WHOLE_WORDS: readonly Trigger[] = [triggerOf("pass", true)];
const WHOLE = /^pass$/gi;

const STILL_PLAIN =
  /^(?:[_-]?(?:\d|value|key|access|text|string|raw|data|prod|dev|test|staging|live|default|old|new|current|base64|b64))*$/i;

/** A name, by the word found in it and what follows that word. */
export function assignedName(strong: boolean, suffix: string): AssignedName {
  return { strong, plain: STILL_PLAIN.test(suffix) };
}

/** What a member's name says of its value; `undefined` if that it is no secret. */
export function nameOfMember(member: string): AssignedName | undefined {
  const strong = endOfLast(STRONG, member);
  const end = strong ?? endOfLast(WEAK, member) ?? endOfLast(WHOLE, member);
  return end === undefined ? undefined : assignedName(strong !== undefined, member.slice(end));
}

function endOfLast(words: RegExp, name: string): number | undefined {
  const last = [...name.matchAll(words)].at(-1);
  return last && last.index + last[0].length;
}
