import { type Format, NO, OPEN, type Reading, type Rest } from "../format.ts";
import { type CharacterSet, characters, readPattern, type Step, WORD } from "../notation.ts";

/** A format told by a pattern; see `readPattern` for what one may say. */
export interface PatternRow {
  readonly name: string;
  readonly pattern: string;
  /** Whether the beginning is meant in capitals and small letters alike. */
  readonly anyCase?: boolean;
  /** What may not stand right before it: by default a letter or a digit, unless it begins in a way that chance does not. */
  readonly notAfter?: CharacterSet;
  /** What has to stand right before it. */
  readonly onlyAfter?: CharacterSet;
  /** Characters of the secret that do not end it: a full stop between two parts, not the one of a sentence. */
  readonly inner?: string;
  /** A last word on the characters that the pattern asks for at least. */
  readonly accepts?: (secret: string) => boolean;
  /** How the secret goes on, if not by the characters it consists of. */
  readonly rest?: Rest;
}

/** A beginning of so many characters is no coincidence. */
const TELLING_BEGINNING = 5;
/** So many characters of a secret say nothing, and may be shown when the text pauses there; so many if they are a word. */
const TELLING = { characters: 6, word: 16 };

/** The format that a row describes. */
export function patternFormat(row: PatternRow): Format {
  const { name, anyCase, accepts, onlyAfter } = row;
  const { beginning, steps, secret } = readPattern(row.pattern);
  const isTelling = onlyAfter !== undefined || beginning.length >= TELLING_BEGINNING;
  const notAfter = row.notAfter ?? (isTelling ? undefined : WORD);
  const last = steps.at(-1);
  const rest = row.rest ?? runOf((last?.set ?? WORD).with(WORD), row.inner);
  return {
    name,
    triggers: [anyCase ? beginning.map(inAnyCase) : beginning],
    ...(onlyAfter && { onlyAfter }),
    ...(notAfter && { notAfter }),
    reach: steps.reduce((sum, { min, max }, index) => sum + (index === steps.length - 1 ? min : max + 1), 1),
    read(text, _, at, final) {
      const [end, from, decided] = follow(steps, secret, text, at);
      if (decided === false) return NO;
      if (decided === undefined) return final ? NO : openFrom(text, from);
      if (accepts && !accepts(text.slice(from, end))) return NO;
      return { is: "secret", from: from ?? at, to: end, rest };
    },
  };
}

/** How far the steps lead, where the secret begins on the way, and whether it is one. */
function follow(
  steps: readonly Step[],
  secret: number,
  text: string,
  at: number,
): [end: number, from: number | undefined, decided: boolean | undefined] {
  let index = at;
  let from: number | undefined;
  for (const [number, { set, min, max }] of steps.entries()) {
    if (number === secret) from = index;
    const isLast = number === steps.length - 1;
    const most = isLast ? min : max;
    const end = set.endOfRun(text, index, index + most);
    if (end - index < min) return [end, from, end === text.length ? undefined : false];
    if (!isLast && end === text.length && end - index < most) return [end, from, undefined];
    index = end;
  }
  return [index, from, true];
}

function openFrom(text: string, from: number | undefined): Reading {
  if (from === undefined) return OPEN;
  const begun = text.slice(from);
  const most = /^[a-z_-]*$/.test(begun) ? TELLING.word : TELLING.characters;
  return { is: "open", from, hide: begun.length > most ? from : undefined };
}

/** A rest of characters of a set, and of others between two of them. */
export function runOf(set: CharacterSet, between = ""): Rest {
  const inner = characters(between);
  return {
    goesOn(text, index, final) {
      const code = text.charCodeAt(index);
      if (set.has(code)) return true;
      if (!inner.has(code)) return false;
      if (index + 1 < text.length) return set.has(text.charCodeAt(index + 1));
      return final ? false : undefined;
    },
  };
}

function inAnyCase(codes: readonly number[]): readonly number[] {
  const spellings = codes.flatMap((code) => {
    const one = String.fromCharCode(code);
    return [one.toLowerCase(), one.toUpperCase()];
  });
  return [...new Set(spellings)].map((one) => one.charCodeAt(0));
}
