/** A matching text with its score. */
export interface Hit {
  readonly id: string;
  readonly score: number;
}

interface Document {
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

const K1 = 1.5;
const B = 0.75;

/** A full-text index in memory that ranks by Okapi BM25. */
export class Bm25Index {
  readonly #documents = new Map<string, Document>();
  /** The ids of the documents that contain a word. */
  readonly #holders = new Map<string, Set<string>>();
  #length = 0;

  get size(): number {
    return this.#documents.size;
  }

  /** Indexes a text under an id and replaces an earlier one. */
  put(id: string, text: string): void {
    this.remove(id);
    const counts = new Map<string, number>();
    const tokens = tokensOf(text);
    for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
    for (const token of counts.keys()) this.#holdersOf(token).add(id);
    this.#documents.set(id, { counts, length: tokens.length });
    this.#length += tokens.length;
  }

  remove(id: string): void {
    const document = this.#documents.get(id);
    if (!document) return;
    for (const token of document.counts.keys()) {
      const holders = this.#holdersOf(token);
      holders.delete(id);
      if (holders.size === 0) this.#holders.delete(token);
    }
    this.#documents.delete(id);
    this.#length -= document.length;
  }

  /** The best matches, best first; ties in the order of ids. */
  search(query: string, limit: number): Hit[] {
    const scores = new Map<string, number>();
    for (const token of new Set(tokensOf(query))) {
      const holders = this.#holders.get(token);
      if (!holders) continue;
      const rarity = Math.log((this.size - holders.size + 0.5) / (holders.size + 0.5) + 1);
      for (const id of holders) scores.set(id, (scores.get(id) ?? 0) + rarity * this.#weight(id, token));
    }
    return [...scores]
      .map(([id, score]) => ({ id, score }))
      .toSorted((left, right) => right.score - left.score || (left.id < right.id ? -1 : 1))
      .slice(0, limit);
  }

  #weight(id: string, token: string): number {
    const { counts, length } = this.#documents.get(id) ?? { counts: new Map<string, number>(), length: 0 };
    const count = counts.get(token) ?? 0;
    const average = this.#length / this.size || 1;
    return (count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / average));
  }

  #holdersOf(token: string): Set<string> {
    const holders = this.#holders.get(token) ?? new Set();
    this.#holders.set(token, holders);
    return holders;
  }
}

/** Returns the items whose texts match a query, best first. */
export function searchItems<Item>(
  items: readonly Item[],
  getText: (item: Item) => string,
  query: string,
  limit = items.length,
): readonly Item[] {
  const index = new Bm25Index();
  for (const [position, item] of items.entries()) index.put(String(position), getText(item));
  return index.search(query, limit).flatMap(({ id }) => items.slice(Number(id), Number(id) + 1));
}

/** Boundaries within a word, as in `camelCase`, `HTTPServer` or `v2`. */
const SEAMS = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;
/** Scripts without spaces: each character counts as a word. */
const SIGNS = /(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])/u;

/** The words of a text in lower case. Identifiers are split and also kept whole. */
export function tokensOf(text: string): string[] {
  return (text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).flatMap((word) => {
    const parts = word.split(SEAMS).flatMap((part) => part.split(SIGNS));
    const whole = parts.length > 1 ? [...parts, word] : parts;
    return whole.map((part) => part.toLowerCase());
  });
}
