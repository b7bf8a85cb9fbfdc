/** Where a value stands in a payload: member names and indexes from the outside in. */
export type PayloadPath = readonly (string | number)[];

/** What to put in the place of a value, or `undefined` to keep it and look inside. */
export type Replacement = (
  value: unknown,
  path: PayloadPath,
) => Promise<{ readonly value: unknown } | undefined>;

/** A copy of a plain JSON value with parts of it replaced, one after the other. What was put in is not looked into. */
export async function replaceParts(
  value: unknown,
  replacement: Replacement,
  path: PayloadPath = [],
): Promise<unknown> {
  const replaced = await replacement(value, path);
  if (replaced) return replaced.value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const [index, item] of value.entries())
      items.push(await replaceParts(item, replacement, [...path, index]));
    return items;
  }
  const members: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value))
    members.push([name, await replaceParts(member, replacement, [...path, name])]);
  return Object.fromEntries(members);
}
