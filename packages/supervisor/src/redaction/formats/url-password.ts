import { type Format, NO, OPEN, triggerOf } from "../format.ts";
import { characters } from "../notation/character-set.ts";

const LONGEST_USER = 128;
const LONGEST_PASSWORD = 256;
const USER = characters("^\\s/?#:@\"'`<>\\[\\]{}\\\\,;()|").ofAlphabets();
const PASSWORD = characters("^\\s/?#\"'`<>\\[\\]{}\\\\").ofAlphabets();

/** The password in an address: `https://ann:secret@host`, `redis://:secret@host`. */
export const urlPassword: Format = {
  name: "url-password",
  triggers: [triggerOf("://")],
  reach: LONGEST_USER + LONGEST_PASSWORD + 2,
  read(text, _, at, final) {
    const colon = USER.endOfRun(text, at, at + LONGEST_USER);
    if (colon === text.length) return final ? NO : OPEN;
    if (text.charAt(colon) !== ":") return NO;
    const from = colon + 1;
    const end = PASSWORD.endOfRun(text, from, from + LONGEST_PASSWORD);
    const given = text.slice(from, end);
    if (!final && end === text.length && given.length < LONGEST_PASSWORD)
      return { is: "open", from, hide: /^(?:\d*$|[$%*])/.test(given) ? undefined : from };
    const to = from + given.lastIndexOf("@");
    return to <= from || isReference(given) ? NO : { is: "secret", from, to };
  },
};

/** A variable stands for a password, and tells nothing. */
function isReference(given: string): boolean {
  return /^(?:\$[A-Za-z_]|%[A-Za-z_]{3,}%|\*+@)/.test(given);
}
