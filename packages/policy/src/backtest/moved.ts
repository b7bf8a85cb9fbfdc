/**
 * Which of some names, each with its place before, in their order of now, were moved: the fewest that have to be taken
 * out for the others to stand in the order they had.
 */
export function movedAmong(names: readonly string[], before: ReadonlyMap<string, number>): Set<string> {
  // The longest run of rising places, found by keeping for each length the run that ends lowest.
  const ends: Run[] = [];
  for (const name of names) {
    const place = before.get(name) ?? -1;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ends[middle]?.place ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    ends[low] = { name, place, previous: ends[low - 1] };
  }
  const moved = new Set(names);
  for (let run = ends.at(-1); run; run = run.previous) moved.delete(run.name);
  return moved;
}

interface Run {
  readonly name: string;
  readonly place: number;
  readonly previous: Run | undefined;
}
