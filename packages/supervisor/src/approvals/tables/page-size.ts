const DEFAULT = 100;
const MOST = 1_000;

/** How many rows a page has, given what was asked for. */
export function pageSize(limit = DEFAULT): number {
  return Math.max(1, Math.min(Math.trunc(limit) || DEFAULT, MOST));
}
