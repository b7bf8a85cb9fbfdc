/** Something with a place in a row of others, and a time. A server that starts anew counts from one again. */
export interface Numbered {
  readonly seq: number;
  readonly at: string;
}

/** What something in a row is known by, also after the server has started anew. */
export function keyOf({ seq, at }: Numbered): string {
  return `${at} ${seq}`;
}

/** What was known and what has come since, each once and in order; of too many the oldest go. */
export function merged<One extends Numbered>(
  known: readonly One[],
  come: readonly One[],
  most: number,
): readonly One[] {
  if (come.length === 0) return known;
  const isNewer = come.every((one, index) => isAfter(one, come[index - 1] ?? known.at(-1)));
  const all = isNewer
    ? [...known, ...come]
    : [...new Map([...known, ...come].map((one) => [keyOf(one), one])).values()].toSorted((one, other) =>
        isAfter(one, other) ? 1 : -1,
      );
  return all.slice(-most);
}

/** Things with the holes between them, where everything should be there. */
export function withHoles<One extends Numbered>(
  all: readonly One[],
): readonly (One | { readonly missing: number })[] {
  return all.flatMap((one, index) => {
    const before = all[index - 1];
    const missing = before ? one.seq - before.seq - 1 : 0;
    return missing > 0 ? [{ missing }, one] : [one];
  });
}

function isAfter(one: Numbered, other: Numbered | undefined): boolean {
  if (!other) return true;
  return one.at === other.at ? one.seq > other.seq : one.at > other.at;
}
