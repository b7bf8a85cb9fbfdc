import { type AssignedName, nameOfMember } from "./assigned-name.ts";
import { isSecretValue, mayBeSecretValue } from "./assigned-value.ts";

/** Whether a member of an object is a secret, because of what it is called; or may be, if its value is not whole. */
export function isSecretMember(member: string, value: string, isWhole: boolean): boolean {
  const name = NAMES.get(member) ?? nameFor(member);
  if (name === "harmless") return false;
  if (name === "cookie") return /^[\w.-]+=[\w.%+/~-]/.test(value);
  const judge = isWhole ? isSecretValue : mayBeSecretValue;
  return judge(value.slice(0, LOOK), name, "quoted");
}

type MemberName = AssignedName | "cookie" | "harmless";

const LOOK = 96;
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
