import { SupervisorError } from "../errors.ts";

/** Punctuation, signs and the scripts of East Asia begin here, of which a word among letters has none. */
const BEYOND_ALPHABETS = 0x2000;

/** A set of characters: any of ASCII one by one, the others up to some code together. */
export class CharacterSet {
  readonly #ascii: Uint8Array;
  readonly #end: number;

  constructor(ascii: Uint8Array, end: number) {
    this.#ascii = ascii;
    this.#end = end;
  }

  /** Whether a UTF-16 code is in it; `NaN`, which is what lies beyond a text, never is. */
  has(code: number): boolean {
    return code >= 128 ? code < this.#end : this.#ascii[code] === 1;
  }

  /** The codes in it, of ASCII. */
  get codes(): readonly number[] {
    const codes: number[] = [];
    for (let code = 0; code < this.#ascii.length; code += 1) if (this.#ascii[code] === 1) codes.push(code);
    return codes;
  }

  /** Both sets in one. */
  with(other: CharacterSet): CharacterSet {
    const ascii = this.#ascii.map((held, code) => (held === 1 || other.has(code) ? 1 : 0));
    return new CharacterSet(ascii, Math.max(this.#end, other.#end));
  }

  /** The set without what no word in an alphabet has. */
  ofAlphabets(): CharacterSet {
    return new CharacterSet(this.#ascii, Math.min(this.#end, BEYOND_ALPHABETS));
  }

  /** The first index from `from` on, and before `limit`, whose character is not in the set; else where looking ended. */
  endOfRun(text: string, from: number, limit: number): number {
    const end = Math.min(text.length, limit);
    let index = from;
    while (index < end && this.has(text.charCodeAt(index))) index += 1;
    return index;
  }
}

/** The set that the inside of a regular expression's brackets describes: `A-Za-z0-9_-`, `^\s"`. */
export function characters(inside: string): CharacterSet {
  const read = known.get(inside) ?? readSet(inside);
  known.set(inside, read);
  return read;
}

/** A cache of sets: the same few occur in hundreds of patterns. */
const known = new Map<string, CharacterSet>();

function readSet(inside: string): CharacterSet {
  const negated = inside.startsWith("^");
  const ascii = new Uint8Array(128);
  let index = negated ? 1 : 0;
  while (index < inside.length) {
    const [first, afterFirst] = member(inside, index);
    const isRange = first.length === 1 && inside[afterFirst] === "-" && afterFirst + 1 < inside.length;
    const [last, next] = isRange ? member(inside, afterFirst + 1) : [first, afterFirst];
    index = next;
    if (!isRange) for (const code of first) ascii[code] = 1;
    else ascii.fill(1, first[0], (last[0] ?? 0) + 1);
  }
  return negated
    ? new CharacterSet(
        ascii.map((held) => 1 - held),
        Infinity,
      )
    : new CharacterSet(ascii, 128);
}

const ESCAPES: Readonly<Record<string, string>> = {
  s: " \t\r\n\f\v",
  n: "\n",
  r: "\r",
  t: "\t",
  d: "0123456789",
};

function member(inside: string, index: number): [codes: readonly number[], next: number] {
  if (inside[index] !== "\\") return [[inside.charCodeAt(index)], index + 1];
  const escaped = inside[index + 1] ?? "\\";
  return [[...(ESCAPES[escaped] ?? escaped)].map((one) => one.charCodeAt(0)), index + 2];
}

/** Letters and digits. */
export const WORD = characters("A-Za-z0-9");
/** The characters of base64. */
export const BASE64 = characters("A-Za-z0-9+/=");
/** The characters of base64 as URLs have it. */
export const BASE64_URL = characters("A-Za-z0-9_-");
/** Spaces and tabs. */
export const BLANK = characters(" \\t");
/** Quotes of any language. */
export const QUOTE = characters("\"'`");

/** So many characters of a set, as many as there are and never fewer on second thought. */
export interface Step {
  readonly set: CharacterSet;
  readonly min: number;
  readonly max: number;
}

/** A pattern, taken apart. */
export interface Pattern {
  /** What it begins with: for each place the UTF-16 codes that may be there. */
  readonly beginning: readonly (readonly number[])[];
  /** What follows, the last of it as long as it goes on. */
  readonly steps: readonly Step[];
  /** The step at which the secret begins. */
  readonly secret: number;
}

/** What a run in the middle of a pattern has at most if it does not say. */
const USUAL_RUN = 512;
/** What it may have at most. */
const LONGEST_RUN = 8_192;

/**
 * Reads a pattern: a small part of regular expressions, which can be matched in one pass and piece by piece. It has
 * characters, `\` before special ones, sets in brackets, and `{n}`, `{n,}`, `{n,m}`, `?` and `+` behind them. It begins
 * with at least two fixed characters or sets, which are shown, and one pair of parentheses may say where the secret is.
 */
export function readPattern(source: string): Pattern {
  const wrong = (why: string) =>
    new SupervisorError("invalid", `the pattern "${source}" cannot be used: ${why}`);
  const steps: Step[] = [];
  let secret: number | undefined;
  let index = 0;
  while (index < source.length) {
    const one = source[index] ?? "";
    index += 1;
    if (one === "(") {
      if (secret !== undefined) throw wrong("there is more than one pair of parentheses");
      secret = steps.length;
      continue;
    }
    if (one === ")") {
      if (secret === undefined || index < source.length)
        throw wrong("parentheses end where the pattern ends");
      continue;
    }
    if ("|^$.*{}]?+".includes(one))
      throw wrong(`"${one}" is not known here; write "\\${one}" for the character`);
    let set: CharacterSet;
    if (one === "[") {
      const end = endOfSet(source, index);
      if (end < 0) throw wrong("a bracket is not closed");
      set = characters(source.slice(index, end));
      index = end + 1;
    } else {
      const literal = one === "\\" ? source.slice(index - 1, index + 1) : one;
      if (one === "\\") index += 1;
      if (literal === "\\" || literal.charCodeAt(0) > 127)
        throw wrong("it has a character that is not of ASCII");
      set = literal === "-" || literal === "^" ? characters(`\\${literal}`) : characters(literal);
    }
    const count = /^(?:\{(\d+)(?:(,)(\d*))?\}|[?+])/.exec(source.slice(index));
    index += count?.[0].length ?? 0;
    const [min, max] = countsOf(count);
    if (!(min <= max && max > 0 && min <= LONGEST_RUN && (max <= LONGEST_RUN || max === Infinity)))
      throw wrong(`"${count?.[0]}" is not a count`);
    steps.push({ set, min, max });
  }
  const fixed = steps.findIndex(({ min, max }) => min !== 1 || max !== 1);
  const beginning = steps.slice(0, fixed < 0 ? steps.length : Math.min(fixed, secret ?? fixed));
  const rest = steps.slice(beginning.length);
  if (beginning.length < 2) throw wrong("it has to begin with at least two fixed characters");
  if ((rest.at(-1)?.min ?? 0) === 0)
    throw wrong("it has to end with the characters of the secret, at least one");
  return {
    beginning: beginning.map(({ set }) => set.codes),
    steps: rest.map((step) => ({
      ...step,
      max: step.max === Infinity ? Math.max(step.min, USUAL_RUN) : step.max,
    })),
    secret: secret === undefined ? 0 : secret - beginning.length,
  };
}

function endOfSet(source: string, from: number): number {
  for (let index = from; index < source.length; index += 1) {
    if (source[index] === "\\") index += 1;
    else if (source[index] === "]") return index;
  }
  return -1;
}

function countsOf(count: RegExpExecArray | null): [min: number, max: number] {
  if (!count) return [1, 1];
  if (count[0] === "?") return [0, 1];
  if (count[0] === "+") return [1, Infinity];
  const min = Number(count[1]);
  if (count[2] === undefined) return [min, min];
  return [min, count[3] ? Number(count[3]) : Infinity];
}
