/** Collects the names in a flag that may be repeated, or hold several with commas between; an empty one stands for none. */
export function names(value: string, before: readonly string[] | undefined): readonly string[] {
  const given = value.split(",").map((name) => name.trim());
  return [...(before ?? []), ...given.filter((name) => name !== "")];
}

/** Names for people. */
export function nameList(list: readonly string[], none: string): string {
  if (list.includes("*")) return "all";
  return list.length === 0 ? none : list.join(", ");
}
