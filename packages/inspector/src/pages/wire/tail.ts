/** Something with a place in a row of others. */
export interface Numbered {
  readonly seq: number;
}

/** What was known and what has come since, each once and in order; of too many the oldest go. */
export function merged<One extends Numbered>(
  known: readonly One[],
  come: readonly One[],
  most: number,
): readonly One[] {
  if (come.length === 0) return known;
  const last = known.at(-1)?.seq ?? -1;
  const isNewer = come.every(({ seq }, index) => seq > (come[index - 1]?.seq ?? last));
  const all = isNewer
    ? [...known, ...come]
    : [...new Map([...known, ...come].map((one) => [one.seq, one])).values()].toSorted(
        (one, other) => one.seq - other.seq,
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
