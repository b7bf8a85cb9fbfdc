import { type Format, NO, OPEN, type Reading, type Rest, triggerOf } from "../format.ts";
import { type CharacterSet, characters, readPattern, type Step, WORD } from "../notation.ts";

/** A format described by a pattern; `readPattern` describes the syntax. */
export interface PatternRow {
  readonly name: string;
  readonly pattern: string;
  /** Whether the beginning is meant in capitals and small letters alike. */
  readonly anyCase?: boolean;
  /** What may not precede it directly: by default a letter or a digit, unless it begins in a way that chance does not. */
  readonly notAfter?: CharacterSet;
  /** What has to precede it directly. */
  readonly onlyAfter?: CharacterSet;
  /** Characters of the secret that do not end it: a full stop between two parts, not the one of a sentence. */
  readonly inner?: string;
  /** A last word on the characters that the pattern asks for at least. */
  readonly accepts?: (secret: string) => boolean;
  /** How the secret goes on, if not by the characters it consists of. */
  readonly rest?: Rest;
}

/** A beginning of so many characters is no coincidence. */
const DISTINCT_BEGINNING = 5;
/** So many characters of a secret say nothing, and may be shown when the text pauses there; so many if they are a word. */
const DISTINCT = { characters: 6, word: 16 };

/** The format that a row describes. */
export function patternFormat(row: PatternRow): Format {
  const { name, anyCase, accepts, onlyAfter } = row;
  const { beginning, steps, secret } = readPattern(row.pattern);
  const isDistinct = onlyAfter !== undefined || beginning.length >= DISTINCT_BEGINNING;
  const notAfter = row.notAfter ?? (isDistinct ? undefined : WORD);
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
  const most = /^[a-z_-]*$/.test(begun) ? DISTINCT.word : DISTINCT.characters;
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

/** Shorter values are words that occur anyway, and hiding them would garble every text. */
const SHORTEST = 6;
/** An encoding of a value is not looked for if it is shorter than this. */
const SHORTEST_ENCODED = 7;
/** A word of a configured value counts on its own from this length on. */
const SHORTEST_PART = 12;
/** Longer values are looked for in blocks of this many characters, so that a part of one is hidden too. */
const BLOCK = 64;

/** Formats for secrets that are known to the letter, in the encodings they are met in. */
export function configuredFormats(values: readonly string[]): readonly Format[] {
  const forms = new Set(values.flatMap(formsOf));
  return [...new Set([...forms].flatMap(blocksOf))].map(literal);
}

function literal(value: string): Format {
  const begun = Math.min(Math.max(2, Math.floor(value.length / 3)), 6);
  const telling = Math.min(Math.ceil(value.length / 3) + 1, 8);
  return {
    name: "configured",
    triggers: [triggerOf(value.slice(0, begun))],
    hidesTrigger: true,
    reach: value.length,
    read(text, start, at, final) {
      if (text.startsWith(value, start)) return { is: "secret", from: start, to: start + value.length };
      const seen = text.slice(at, start + value.length);
      if (final || at + seen.length < text.length || !value.startsWith(seen, begun)) return NO;
      return { is: "open", from: start, hide: text.length - start >= telling ? start : undefined };
    },
  };
}

function formsOf(value: string): readonly string[] {
  const plain = [value, ...value.split(/\s+/).filter((part) => part.length >= SHORTEST_PART)];
  const exact = plain.map((one) => one.trim()).filter((one) => one.length >= SHORTEST);
  return exact.flatMap((one) => {
    const encoded = [...escapedForms(one), ...urlForms(one), ...base64Forms(one)];
    return [one, ...encoded.filter((form) => form.length >= SHORTEST_ENCODED)];
  });
}

/** As JSON has it, once and twice, with slashes escaped or not, and with other line ends. */
function escapedForms(value: string): readonly string[] {
  const once = escaped(value);
  const slashes = once.replaceAll("/", "\\/");
  const ascii = once.replace(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [once, slashes, ascii, escaped(once), value.replaceAll("\n", "\r\n")];
}

function escaped(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function urlForms(value: string): readonly string[] {
  const encoded = encodeURIComponent(value.toWellFormed());
  const form = new URLSearchParams([["", value]]).toString().slice(1);
  return [encoded, form].flatMap((one) => [one, one.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

/** Wherever in a longer text the value stands: of each shift, what does not depend on its neighbours. */
function base64Forms(value: string): readonly string[] {
  const forms = [0, 1, 2].flatMap((shift) => {
    const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(value)]);
    const from = Math.ceil((shift * 8) / 6);
    const encoded = bytes.toString("base64").slice(from, Math.floor((bytes.length * 8) / 6));
    return shift === 0 ? [encoded, bytes.toString("base64")] : [encoded];
  });
  return [
    ...forms,
    ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")),
  ];
}

function blocksOf(value: string): readonly string[] {
  if (value.length <= BLOCK) return [value];
  const starts = Array.from({ length: Math.floor(value.length / BLOCK) }, (_, index) => index * BLOCK);
  return [...starts, value.length - BLOCK].map((start) => {
    const isHalf = value.charCodeAt(start) >= 0xdc00 && value.charCodeAt(start) < 0xe000;
    return value.slice(isHalf ? start - 1 : start, start + BLOCK);
  });
}
