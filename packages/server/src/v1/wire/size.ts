/** About how many characters a value has as JSON; no more is looked at than it takes to see that it is too large. */
export function sizeWithin(value: unknown, most: number): number | undefined {
  const left = leftOf(value, most);
  return left < 0 ? undefined : most - left;
}

/** What is left of so much room. Every message passes by here, so that nothing is made on the way. */
function leftOf(value: unknown, room: number): number {
  if (typeof value === "string") return room - value.length - 2;
  if (typeof value !== "object" || value === null) return room - 4;
  let left = room - 2;
  for (const name in value) {
    if (left < 0) return left;
    left = leftOf(Reflect.get(value, name), left - name.length - 3);
  }
  return left;
}
