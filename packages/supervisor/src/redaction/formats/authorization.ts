import { type Format, NO, OPEN, type Reading, type Rest, triggerOf } from "../format.ts";
import { BLANK, type CharacterSet, characters } from "../notation/character-set.ts";
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
