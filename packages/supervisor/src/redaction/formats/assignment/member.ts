import { nameOfMember } from "./assigned-name.ts";
import { isSecretValue, mayBeSecretValue } from "./assigned-value.ts";

/** Whether a member of an object is a secret, because of what it is called; or may be, if its value is not whole. */
export function isSecretMember(member: string, value: string, isWhole: boolean): boolean {
  if (!SUSPECT.test(member)) return false;
  if (/cookie$/i.test(member)) return /^[\w.-]+=[\w.%+/~-]/.test(value);
  const name = nameOfMember(member);
  const judge = isWhole ? isSecretValue : mayBeSecretValue;
  return name !== undefined && judge(value.slice(0, LOOK), name, "quoted");
}

const LOOK = 96;
/** What all the words have in common, to be quick about other names. */
const SUSPECT = /pass|pwd|secret|credential|key|token|auth|_pw|cookie/i;
