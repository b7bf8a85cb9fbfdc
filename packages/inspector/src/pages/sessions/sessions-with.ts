import type { Session } from "@reins/api";

/** The sessions that are listed, the most recently used first, after one of them, or a new one, has changed. */
export function sessionsWith(known: readonly Session[], changed: Session, most: number): readonly Session[] {
  return [...known.filter(({ id }) => id !== changed.id), changed].toSorted(newestFirst).slice(0, most);
}

function newestFirst(one: Session, other: Session): number {
  const [first, second] = [one, other].map(({ last_activity, id }) => `${last_activity} ${id}`);
  return (first ?? "") < (second ?? "") ? 1 : -1;
}
