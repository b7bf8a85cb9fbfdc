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

/** The sets that were read so far: the same few stand in hundreds of patterns. */
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
