/** Where a Reins keeps nothing of its own: the page is there, and the way in for agents that `reins up` prints. */
const NO_FILES: ReadonlySet<string> = new Set(["/", "/ahp"]);

/** What to fetch: a file behind an address as it is, and of a Reins, which has none there, the export of its ledger. */
export function remoteSource(source: string): string {
  if (!/^https?:/i.test(source) || !URL.canParse(source)) return source;
  const url = new URL(source);
  return NO_FILES.has(url.pathname) ? new URL("/v1/ledger/export", url).href : source;
}
