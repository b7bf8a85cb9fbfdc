import { type Format, NO, OPEN, type Reading, type Rest, triggerOf } from "../format.ts";
import { BLANK, type CharacterSet, characters } from "../notation.ts";
import { isSecretValue } from "./assigned-value.ts";
import { runOf } from "./pattern-format.ts";

/** As much of a credential as is looked at before it is judged. */
const LOOK = 96;
const TOKEN = { set: characters("A-Za-z0-9._~+/=-"), rest: runOf(characters("A-Za-z0-9_~+/=-"), ".") };
const ENCODED = { set: characters("A-Za-z0-9_+/=-"), rest: runOf(characters("A-Za-z0-9_+/=-")) };

/** What follows the name of a scheme, as in `Authorization: Bearer …`, wherever it stands. */
export const authorizations: readonly Format[] = [
  scheme("bearer", TOKEN, isToken(12)),
  scheme("token", TOKEN, isToken(20)),
  scheme("apikey", TOKEN, isToken(16)),
  scheme("bot", TOKEN, isToken(30)),
  scheme("basic", ENCODED, isNameAndPassword),
];

/** How a credential is written. */
interface Credential {
  readonly set: CharacterSet;
  readonly rest: Rest;
}

function scheme(name: string, { set, rest }: Credential, accepts: (given: string) => boolean): Format {
  return {
    name: "authorization",
    triggers: [triggerOf(`${name} `, true), triggerOf(`${name}%20`, true)],
    reach: LOOK + 8,
    read(text, _, at, final): Reading {
      const from = BLANK.endOfRun(text, at, at + 4);
      const end = set.endOfRun(text, from, from + LOOK);
      const isCut = !final && end === text.length && end - from < LOOK;
      if (isCut && end === from) return OPEN;
      const to = from + text.slice(from, end).replace(/\.+$/, "").length;
      const isOne = accepts(text.slice(from, to));
      if (isCut) return { is: "open", from, hide: isOne ? from : undefined };
      if (!isOne) return NO;
      return end - from < LOOK ? { is: "secret", from, to } : { is: "secret", from, to: end, rest };
    },
  };
}

/** A word has no digits; what is drawn at random has, or both capitals and small letters. */
function isToken(shortest: number): (given: string) => boolean {
  return (given) => {
    if (given.length < shortest || !/[A-Za-z]/.test(given)) return false;
    return /\d/.test(given) || (given.length >= 2 * shortest && /[A-Z]/.test(given) && /[a-z]/.test(given));
  };
}

/** Whether it is base64 of `name:password`. */
function isNameAndPassword(given: string): boolean {
  const encoded = /^[A-Za-z0-9+/_-]{8,}/.exec(given)?.[0] ?? "";
  return /^[\x20-\x39\x3b-\x7e]*:/.test(Buffer.from(encoded, "base64").toString("latin1"));
}

const CLOSING = characters("\\\\\"'`*");
const COOKIE_NAME = characters("A-Za-z0-9_.!#$%&+^~|-");
const LONGEST_COOKIE_NAME = 96;
const FIRST = characters("A-Za-z0-9_.%+/~-");
const COOKIE_REST = runOf(characters("^\\n\\r\"'\\\\"));

/** What a `Cookie` or `Set-Cookie` header carries, to the end of its line or string. */
export const cookie: Format = {
  name: "cookie",
  triggers: [triggerOf("cookie", true)],
  reach: LONGEST_COOKIE_NAME + 32,
  read(text, _, at, final) {
    const wait = final ? NO : OPEN;
    const colon = BLANK.endOfRun(text, CLOSING.endOfRun(text, at, at + 4), at + 8);
    if (colon === text.length) return wait;
    if (text.charAt(colon) !== ":") return NO;
    const from = CLOSING.endOfRun(text, BLANK.endOfRun(text, colon + 1, colon + 9), colon + 13);
    const end = COOKIE_NAME.endOfRun(text, from, from + LONGEST_COOKIE_NAME);
    if (end + 1 >= text.length) return final || (end < text.length && text.charAt(end) !== "=") ? NO : OPEN;
    if (end === from || text.charAt(end) !== "=" || !FIRST.has(text.charCodeAt(end + 1))) return NO;
    return { is: "secret", from: end + 1, to: end + 2, rest: COOKIE_REST };
  },
};

const LONGEST_USER = 128;
const LONGEST_PASSWORD = 256;
const USER = characters("^\\s/?#:@\"'`<>\\[\\]{}\\\\,;()|").ofAlphabets();
const URL_PASSWORD = characters("^\\s/?#\"'`<>\\[\\]{}\\\\").ofAlphabets();

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
    const end = URL_PASSWORD.endOfRun(text, from, from + LONGEST_PASSWORD);
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

const LONGEST_USER_NAME = 64;
const QUOTES = characters("\"'");
const USER_NAME = characters("A-Za-z0-9._@%+-");
const OPTION_PASSWORD = characters("^\\s\"'`\\\\\\[").ofAlphabets();
const OPTION_REST = runOf(OPTION_PASSWORD);
const SECRET = { strong: true, plain: true };

/** The password of `curl -u name:password`; of `docker run -u 1000:1000`, which looks alike, nothing. */
export const userOption: Format = {
  name: "user-option",
  triggers: ["-u ", "--user ", "--user=", "--proxy-user "].map((option) => triggerOf(option)),
  notAfter: characters("A-Za-z0-9_-"),
  reach: LONGEST_USER_NAME + LOOK + 2,
  read(text, _, at, final) {
    const name = QUOTES.endOfRun(text, at, at + 1);
    const colon = USER_NAME.endOfRun(text, name, name + LONGEST_USER_NAME);
    if (colon === text.length) return final ? NO : OPEN;
    if (colon === name || text.charAt(colon) !== ":") return NO;
    const from = colon + 1;
    const end = OPTION_PASSWORD.endOfRun(text, from, from + LOOK);
    const value = text.slice(from, end);
    if (!final && end === text.length && value.length < LOOK)
      return { is: "open", from, hide: value.length > 3 && !/^\d+$|^\/\//.test(value) ? from : undefined };
    if (text.charAt(end) === "[" || /^\d+$|^\/\//.test(value) || !isSecretValue(value, SECRET, "bare"))
      return NO;
    return { is: "secret", from, to: end, rest: OPTION_REST };
  },
};
