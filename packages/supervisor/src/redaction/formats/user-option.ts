import { type Format, NO, OPEN, triggerOf } from "../format.ts";
import { characters } from "../notation/character-set.ts";
import { isSecretValue } from "./assignment/assigned-value.ts";
import { runOf } from "./pattern-format.ts";

const LONGEST_NAME = 64;
/** As much of a password as is looked at before it is judged. */
const LOOK = 96;
const QUOTES = characters("\"'");
const NAME = characters("A-Za-z0-9._@%+-");
const PASSWORD = characters("^\\s\"'`\\\\\\[").ofAlphabets();
const REST = runOf(PASSWORD);
const SECRET = { strong: true, plain: true };

/** The password of `curl -u name:password`; of `docker run -u 1000:1000`, which looks alike, nothing. */
export const userOption: Format = {
  name: "user-option",
  triggers: ["-u ", "--user ", "--user=", "--proxy-user "].map((option) => triggerOf(option)),
  notAfter: characters("A-Za-z0-9_-"),
  reach: LONGEST_NAME + LOOK + 2,
  read(text, _, at, final) {
    const name = QUOTES.endOfRun(text, at, at + 1);
    const colon = NAME.endOfRun(text, name, name + LONGEST_NAME);
    if (colon === text.length) return final ? NO : OPEN;
    if (colon === name || text.charAt(colon) !== ":") return NO;
    const from = colon + 1;
    const end = PASSWORD.endOfRun(text, from, from + LOOK);
    const value = text.slice(from, end);
    if (!final && end === text.length && value.length < LOOK)
      return { is: "open", from, hide: value.length > 3 && !/^\d+$|^\/\//.test(value) ? from : undefined };
    if (text.charAt(end) === "[" || /^\d+$|^\/\//.test(value) || !isSecretValue(value, SECRET, "bare"))
      return NO;
    return { is: "secret", from, to: end, rest: REST };
  },
};
