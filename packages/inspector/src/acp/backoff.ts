const FIRST_MS = 250;
const MOST_MS = 10_000;

/** How long to wait before trying again, after so many failures in a row; spread, so that many pages do not come at once. */
export function waitAfter(failures: number, random: () => number): number {
  const most = Math.min(MOST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
  return Math.round(most * (0.5 + random() / 2));
}
