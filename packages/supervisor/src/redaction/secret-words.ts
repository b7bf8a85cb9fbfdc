import { MARK } from "./format.ts";

/** Shorter words occur by chance, and hiding them would garble every text. */
const SHORTEST = 6;

/** With more words than these, every text is hidden. */
const MOST = 256;

/** Secrets that are hidden literally, and each of their words as well: programs split their input. */
export class SecretWords {
  readonly #words: readonly string[];

  constructor(secrets: readonly string[]) {
    const words = secrets.flatMap((secret) => [secret, ...secret.split(/\s+/)]);
    this.#words = [...new Set(words)]
      .filter((word) => word.length >= SHORTEST)
      .sort((left, right) => right.length - left.length);
  }

  /** A value of JSON without them. */
  hideIn(value: unknown): unknown {
    if (typeof value === "string") return this.#hide(value);
    if (Array.isArray(value)) return value.map((item) => this.hideIn(item));
    if (typeof value !== "object" || value === null || JSON.isRawJSON(value)) return value;
    const members = Object.entries(value).map(([name, member]) => [this.#hide(name), this.hideIn(member)]);
    return Object.fromEntries(members);
  }

  #hide(text: string): string {
    // Searching for each of very many words would take quadratic time.
    if (this.#words.length > MOST) return MARK;
    return this.#words.reduce((rest, word) => rest.replaceAll(word, MARK), text);
  }
}

/** The secrets that were removed from a value, given what is shown of it; `inText` finds those of one text. */
export function hiddenIn(
  value: unknown,
  shown: unknown,
  inText: (text: string) => readonly string[],
): readonly string[] {
  if (value === shown) return [];
  if (typeof value === "string") return shown === MARK ? [value] : inText(value);
  if (!isStructure(value) || !isStructure(shown)) return [];
  const after = Object.entries(shown);
  return Object.entries(value).flatMap(([name, member], index) => {
    const [newName = "", newMember] = after[index] ?? [];
    return [...(name === newName ? [] : inText(name)), ...hiddenIn(member, newMember, inText)];
  });
}

function isStructure(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The shortest random text that counts. */
const SHORTEST_RANDOM = 20;
const WORDS = new RegExp(`[A-Za-z0-9+/_=-]{${SHORTEST_RANDOM},}`, "g");
/** Bits of each character: English has two or three, base64 drawn at random comes near to five in forty characters. */
const RANDOM = 3.6;
/** Hashes, identifiers and the like: as random as keys, and no secret. */
const PUBLIC = /^(?:sha(?:1|256|384|512)-|[0-9a-f]+$|[0-9A-F]+$|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9/_=-]+$)/;

/** Whether a word in a text looks random. That is a reason to look at it, not to remove it. */
export function looksSecret(text: string): boolean {
  for (const [word] of text.matchAll(WORDS)) if (isRandom(word)) return true;
  return false;
}

function isRandom(word: string): boolean {
  if (PUBLIC.test(word) || word.split("/").length > 3) return false;
  if (!/\d/.test(word) || !/[A-Z]/.test(word) || !/[a-z]/.test(word)) return false;
  return bitsPerCharacter(word) >= RANDOM;
}

/** Shannon's entropy. */
function bitsPerCharacter(word: string): number {
  const counts = new Map<string, number>();
  for (const one of word) counts.set(one, (counts.get(one) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length);
  return bits;
}
