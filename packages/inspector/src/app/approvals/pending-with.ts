import type { Approval } from "@reins/api";

/** The approvals that wait, after one of them, or a new one, has changed. */
export function pendingWith(known: readonly Approval[], changed: Approval): readonly Approval[] {
  const others = known.filter(({ id }) => id !== changed.id);
  if (changed.state !== "pending") return others.length === known.length ? known : others;
  const place = known.findIndex(({ id }) => id === changed.id);
  return place < 0 ? [...known, changed] : known.with(place, changed);
}
