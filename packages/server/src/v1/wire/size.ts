/** About how many characters a value has as JSON; no more is looked at than it takes to see that it is too large. */
export function sizeWithin(value: unknown, most: number): number | undefined {
  const left = leftOf(value, most, MOST_DEEP);
  return left < 0 ? undefined : most - left;
}

/** What is nested deeper is as good as too large: nobody could look at it. */
const MOST_DEEP = 100;

/** What is left of so much room. Every message passes by here, so that nothing is made on the way. */
function leftOf(value: unknown, room: number, deep: number): number {
  if (typeof value === "string") return room - value.length - 2;
  if (typeof value !== "object" || value === null) return room - 4;
  if (deep === 0) return -1;
  let left = room - 2;
  for (const name in value) {
    if (left < 0) return left;
    left = leftOf(Reflect.get(value, name), left - name.length - 3, deep - 1);
  }
  return left;
}
