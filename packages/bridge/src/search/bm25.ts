import { stem } from "./stem.ts";

/** Boundaries within a word, as in `camelCase`, `HTTPServer` or `sha256`; not in short names such as `s3` or `2fa`. */
const SEAMS =
  /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L}{3})(?=\p{N})|(?<=\p{N})(?=\p{L}{3})/u;
/** Words of two parts that are also written as one, and verbs of two words; both parts and the whole are words. */
const COMPOUNDS: ReadonlySet<string> = new Set(
  `backup cleanup dayoff followup handover kickoff moneyback putoff rerun rightnow signoff spinup takeover turndown checkout checkin checkbox database dataset dropdown email filesystem firewall hostname inbox keyword lifecycle login
  logout lookup metadata namespace newsletter offboarding onboarding oncall password payout pipeline playlist postcode
  realtime rollback rollout screenshot setup shutdown signin signout signup spreadsheet standup subtask teammate template
  timeoff timeout timesheet timestamp timezone todo username voicemail webhook webpage website whitelist wifi workflow
  workspace worktree`.split(/\s+/),
);
/** Scripts without spaces: each character counts as a word. */
const SIGNS = /(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])/u;
/** The most distinct words of a query that count. */
const MAX_QUERY_WORDS = 64;

/** Words of a query that say nothing about what is sought. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after all also am an and any are as at be because been before being between both but by can cannot
  could did do does doing don down each few for from further had has have having he her here hers him his how i if in
  into is it its itself just let ll me more most my myself no nor not now of off on only or other our ours out
  over own please re s same she should so some such t than that the their them then there these they this those
  through to too under until up us very was we were what when where which while who whom why will with would you
  your yours want need like help something anything give right via whether many much yet still m ve d`
    .split(/\s+/)
    .map(stem),
);

/** The words of a text: NFKC, lower case, stemmed. Identifiers are split and also kept whole. */
export function tokensOf(text: string): string[] {
  const words = (text.normalize("NFKC").match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).flatMap((word) => {
    const parts = word.split(SEAMS).flatMap((part) => part.split(SIGNS));
    return (parts.length > 1 ? [...parts, word] : parts).map((part) => part.toLowerCase());
  });
  return words.flatMap((word, index) => {
    const both = `${words[index - 1] ?? ""}${word}`;
    return COMPOUNDS.has(both) && both !== word ? [stem(word), stem(both)] : [stem(word)];
  });
}

/** The distinct words of a query that count. Stop words count where there are no others. */
export function queryTokens(query: string): readonly string[] {
  const words = [...new Set(tokensOf(query))];
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  return (telling.length > 0 ? telling : words).slice(0, MAX_QUERY_WORDS);
}

/** Where a word of the query was found, and what it adds to the score. */
export interface Match<Field extends string = string> {
  /** The word of the query, stemmed. */
  readonly word: string;
  /** The word that was found: the same, or a synonym. */
  readonly found: string;
  readonly fields: readonly Field[];
  readonly score: number;
}

/** A matching document with its score and the reasons for it, strongest first. */
export interface Hit<Field extends string = string> {
  readonly id: string;
  readonly score: number;
  readonly matches: readonly Match<Field>[];
}

/** The weight of each field of a document; a word counts by its weight. */
export type FieldWeights<Field extends string> = Readonly<Record<Field, number>>;

/** A word that also counts for another, by a share from 0 to 1. */
export interface Expansion {
  readonly word: string;
  readonly share: number;
}

/** Options of an index. */
export interface Bm25Options {
  /** The synonyms of a word of the query, stemmed. Of a word and its synonyms the best one counts. */
  readonly expand?: (word: string) => readonly Expansion[];
}

/** Options of a search. */
export interface SearchOptions {
  readonly limit: number;
  /** Whether a document is a candidate; any is by default. */
  readonly accepts?: (id: string) => boolean;
}

interface Document {
  readonly id: string;
  /** The number of words of each field. */
  readonly lengths: readonly number[];
  readonly words: ReadonlySet<string>;
}

/** How often a word occurs in each field of a document. */
type Counts = readonly number[];

interface Concept {
  readonly word: string;
  readonly found: string;
  readonly weight: number;
  readonly postings: ReadonlyMap<Document, Counts>;
}

const K1 = 1.5;
const B = 0.75;

/** A full-text index in memory that ranks by BM25F: Okapi BM25 over fields of different weight. */
export class Bm25Index<Field extends string> {
  readonly #fields: readonly Field[];
  readonly #weights: readonly number[];
  readonly #expand: (word: string) => readonly Expansion[];
  readonly #documents = new Map<string, Document>();
  /** The documents that contain a word. */
  readonly #postings = new Map<string, Map<Document, Counts>>();
  /** The number of words of each field in all documents. */
  readonly #lengths: number[];

  constructor(weights: FieldWeights<Field>, { expand = () => [] }: Bm25Options = {}) {
    const entries: [Field, number][] = [];
    for (const field in weights) entries.push([field, weights[field]]);
    this.#fields = entries.map(([field]) => field);
    this.#weights = entries.map(([, weight]) => weight);
    this.#lengths = entries.map(() => 0);
    this.#expand = expand;
  }

  get size(): number {
    return this.#documents.size;
  }

  /** Indexes a document under an id and replaces an earlier one. */
  put(id: string, texts: Readonly<Record<Field, string>>): void {
    this.remove(id);
    const counts = new Map<string, number[]>();
    const lengths = this.#fields.map((field, index) => {
      const tokens = tokensOf(texts[field]);
      for (const token of tokens) {
        const count = counts.get(token) ?? this.#fields.map(() => 0);
        count[index] = (count[index] ?? 0) + 1;
        counts.set(token, count);
      }
      return tokens.length;
    });
    const document: Document = { id, lengths, words: new Set(counts.keys()) };
    for (const [token, count] of counts) {
      const postings = this.#postings.get(token);
      if (postings) postings.set(document, count);
      else this.#postings.set(token, new Map([[document, count]]));
    }
    this.#documents.set(id, document);
    this.#addLengths(document, 1);
  }

  remove(id: string): void {
    const document = this.#documents.get(id);
    if (!document) return;
    for (const word of document.words) {
      const postings = this.#postings.get(word);
      postings?.delete(document);
      if (postings?.size === 0) this.#postings.delete(word);
    }
    this.#documents.delete(id);
    this.#addLengths(document, -1);
  }

  /** The best matches, best first; ties in the order of ids. */
  search(query: string, { limit, accepts = () => true }: SearchOptions): Hit<Field>[] {
    const concepts = queryTokens(query).map((word) => this.#conceptsOf(word));
    const scores = new Map<Document, number>();
    for (const alternatives of concepts) {
      const [first, ...others] = alternatives;
      if (!first) continue;
      const best = new Map<Document, number>();
      for (const concept of [first, ...others])
        for (const [document, counts] of concept.postings) {
          const score = this.#score(concept, document, counts);
          if (score > (best.get(document) ?? 0)) best.set(document, score);
        }
      for (const [document, score] of best) scores.set(document, (scores.get(document) ?? 0) + score);
    }
    return [...scores]
      .filter(([{ id }]) => accepts(id))
      .toSorted(([left, one], [right, other]) => other - one || (left.id < right.id ? -1 : 1))
      .slice(0, limit)
      .map(([document, score]) => ({ id: document.id, score, matches: this.#matches(document, concepts) }));
  }

  /** A word of a query and its synonyms that occur. A synonym is no rarer than the word where that occurs too. */
  #conceptsOf(word: string): readonly Concept[] {
    const own = this.#postings.get(word);
    const most = own ? this.#rarity(own) : Number.POSITIVE_INFINITY;
    return [{ word, share: 1 }, ...this.#expand(word)].flatMap(({ word: found, share }) => {
      const postings = this.#postings.get(found);
      if (!postings) return [];
      return [{ word, found, weight: share * Math.min(most, this.#rarity(postings)), postings }];
    });
  }

  #rarity({ size }: ReadonlyMap<Document, Counts>): number {
    return Math.log((this.size - size + 0.5) / (size + 0.5) + 1);
  }

  #score({ weight }: Concept, { lengths }: Document, counts: Counts): number {
    let frequency = 0;
    for (let index = 0; index < counts.length; index += 1) {
      const count = counts[index] ?? 0;
      if (count === 0) continue;
      const average = (this.#lengths[index] ?? 0) / this.size || 1;
      frequency += ((this.#weights[index] ?? 0) * count) / (1 - B + (B * (lengths[index] ?? 0)) / average);
    }
    return (weight * frequency * (K1 + 1)) / (frequency + K1);
  }

  #matches(document: Document, concepts: readonly (readonly Concept[])[]): Match<Field>[] {
    return concepts
      .flatMap((alternatives) => {
        const scored = alternatives.flatMap((concept) => {
          const counts = concept.postings.get(document);
          if (!counts) return [];
          const fields = this.#fields.filter((_, index) => (counts[index] ?? 0) > 0);
          const { word, found } = concept;
          return [{ word, found, fields, score: this.#score(concept, document, counts) }];
        });
        return scored.toSorted((left, right) => right.score - left.score).slice(0, 1);
      })
      .toSorted((left, right) => right.score - left.score);
  }

  #addLengths({ lengths }: Document, sign: 1 | -1): void {
    for (const [index, length] of lengths.entries())
      this.#lengths[index] = (this.#lengths[index] ?? 0) + sign * length;
  }
}

/** Returns the items whose texts match a query, best first. */
export function searchItems<Item>(
  items: readonly Item[],
  getText: (item: Item) => string,
  query: string,
  limit = items.length,
): readonly Item[] {
  return itemSearch(items, getText, limit)(query);
}

/** A search of items that is made once for many queries. */
export function itemSearch<Item>(
  items: readonly Item[],
  getText: (item: Item) => string,
  limit = items.length,
): (query: string) => readonly Item[] {
  const index = new Bm25Index({ text: 1 });
  for (const [position, item] of items.entries()) index.put(String(position), { text: getText(item) });
  return (query) =>
    index.search(query, { limit }).flatMap(({ id }) => items.slice(Number(id), Number(id) + 1));
}

/** Says in one line why a document matched, such as `deploy (name, description), ship as release (tags)`. */
export function explain(matches: readonly Match[]): string {
  return matches
    .map(({ word, found, fields }) => `${word}${found === word ? "" : ` as ${found}`} (${fields.join(", ")})`)
    .join(", ");
}
