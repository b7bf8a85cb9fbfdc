import { type Format, NO, OPEN, triggerOf } from "../format.ts";
import { BLANK, characters } from "../notation/character-set.ts";
import { runOf } from "./pattern-format.ts";

const CLOSING = characters("\\\\\"'`*");
const NAME = characters("A-Za-z0-9_.!#$%&+^~|-");
const LONGEST_NAME = 96;
const FIRST = characters("A-Za-z0-9_.%+/~-");
const REST = runOf(characters("^\\n\\r\"'\\\\"));

/** What a `Cookie` or `Set-Cookie` header carries, to the end of its line or string. */
export const cookie: Format = {
  name: "cookie",
  triggers: [triggerOf("cookie", true)],
  reach: LONGEST_NAME + 32,
  read(text, _, at, final) {
    const wait = final ? NO : OPEN;
    const colon = BLANK.endOfRun(text, CLOSING.endOfRun(text, at, at + 4), at + 8);
    if (colon === text.length) return wait;
    if (text.charAt(colon) !== ":") return NO;
    const from = CLOSING.endOfRun(text, BLANK.endOfRun(text, colon + 1, colon + 9), colon + 13);
    const end = NAME.endOfRun(text, from, from + LONGEST_NAME);
    if (end + 1 >= text.length) return final || (end < text.length && text.charAt(end) !== "=") ? NO : OPEN;
    if (end === from || text.charAt(end) !== "=" || !FIRST.has(text.charCodeAt(end + 1))) return NO;
    return { is: "secret", from: end + 1, to: end + 2, rest: REST };
  },
};
