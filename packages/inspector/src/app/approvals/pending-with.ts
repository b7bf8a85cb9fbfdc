import type { ShownApproval } from "@reins/api";

/** The approvals that wait, after one of them, or a new one, has changed. */
export function pendingWith<Shown extends ShownApproval>(
  known: readonly Shown[],
  changed: Shown,
): readonly Shown[] {
  const others = known.filter(({ id }) => id !== changed.id);
  if (changed.state !== "pending") return others.length === known.length ? known : others;
  const place = known.findIndex(({ id }) => id === changed.id);
  return place < 0 ? [...known, changed] : known.with(place, changed);
}
