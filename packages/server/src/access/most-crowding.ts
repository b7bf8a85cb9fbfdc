/**
 * Which of some things that principals hold goes first when there are too many: the oldest of whoever holds most, so that
 * nobody loses theirs because others want more. Of the first in the list is taken that they are the oldest.
 */
export function mostCrowding<Held extends { readonly principal: string }>(
  all: readonly Held[],
): Held | undefined {
  const byPrincipal = [...Map.groupBy(all, ({ principal }) => principal).values()];
  const most = Math.max(...byPrincipal.map(({ length }) => length));
  return byPrincipal.find(({ length }) => length === most)?.[0];
}
