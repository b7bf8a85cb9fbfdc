/** About how many characters a value has as JSON; no more is looked at than it takes to see that it is too large. */
export function sizeWithin(value: unknown, most: number): number | undefined {
  let size = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    size += typeof next === "string" ? next.length + 2 : 4;
    if (typeof next === "object" && next !== null) {
      const members = Object.entries(next);
      for (const [name, member] of members) {
        size += name.length + 3;
        waiting.push(member);
      }
    }
    if (size > most) return undefined;
  }
  return size;
}
