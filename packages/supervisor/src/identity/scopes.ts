/** Stands for every scope, or every agent. */
export const ALL = "*";

/** What all of several lists hold. A list with `*` holds everything, so it narrows nothing. */
export function intersect(...lists: readonly (readonly string[])[]): readonly string[] {
  const narrowing = lists.filter((list) => !list.includes(ALL));
  const [first, ...others] = narrowing;
  if (!first) return [ALL];
  return first.filter((name) => others.every((other) => other.includes(name)));
}

/** Whether a list holds everything that another does. */
export function covers(holder: readonly string[], wanted: readonly string[]): boolean {
  return holder.includes(ALL) || wanted.every((name) => holder.includes(name));
}
