import { Bm25Index } from "@reins/bridge";

/** Something that may be put into a context. */
export interface Candidate {
  readonly key: string;
  /** What it says, by which it is judged and measured. */
  readonly text: string;
  /** How much it matters whatever is asked, from 0 to 1. */
  readonly weight: number;
}

/** A candidate and how much it matters here, from 0 to 1. */
export type Ranked<Item extends Candidate> = Item & { readonly relevance: number };

/** Orders candidates by what they have to do with a query and by their own weight, best first. */
export function rank<Item extends Candidate>(
  candidates: readonly Item[],
  query: string,
): readonly Ranked<Item>[] {
  const index = new Bm25Index();
  for (const { key, text } of candidates) index.put(key, text);
  const scores = new Map(index.search(query, candidates.length).map(({ id, score }) => [id, score]));
  const best = Math.max(...scores.values(), 1);
  return candidates
    .map((item) => {
      const fit = (scores.get(item.key) ?? 0) / best;
      return { ...item, relevance: Math.round((0.6 * item.weight + 0.4 * fit) * 100) / 100 };
    })
    .toSorted((left, right) => right.relevance - left.relevance);
}

/** How much may be put into a context. */
export interface Budget {
  readonly items: number;
  readonly characters: number;
}

/** The best candidates that fit together. One that is too long makes way for those after it. */
export function fitting<Item extends Candidate>(
  ranked: readonly Item[],
  { items, characters }: Budget,
): readonly Item[] {
  const chosen: Item[] = [];
  let left = characters;
  for (const item of ranked) {
    if (chosen.length >= items) break;
    if (item.text.length > left) continue;
    chosen.push(item);
    left -= item.text.length;
  }
  return chosen;
}
