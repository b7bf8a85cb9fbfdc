import type { LedgerReader, PlacedEntry } from "@reins/ledger";
import type { EntryFilter } from "./settings.ts";

const PAGE = 500;

/** Which entries, from where, and how many at most. */
interface PageOptions {
  readonly filter: EntryFilter;
  readonly order: "oldest" | "newest";
  /** Behind this place, or before it when the newest come first. */
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

/** Entries page by page, so that a long ledger takes no more memory than a short one. */
export async function* pagesOf(
  ledger: Pick<LedgerReader, "read">,
  options: PageOptions,
): AsyncGenerator<PlacedEntry[]> {
  const { filter, order } = options;
  let { after } = options;
  for (let left = options.limit ?? Infinity; left > 0; ) {
    const page = await ledger.read({ ...filter, order, after, limit: Math.min(PAGE, left) });
    const last = page.at(-1);
    if (!last) return;
    yield page;
    after = last.seq;
    left -= page.length;
    if (page.length < PAGE) return;
  }
}

/** The place before the newest `count` entries of a filter; before all when there are fewer. */
export async function placeBefore(
  ledger: Pick<LedgerReader, "read" | "size">,
  filter: EntryFilter,
  count: number,
): Promise<number> {
  let place = (await ledger.size()) - 1;
  let found = 0;
  for await (const page of pagesOf(ledger, { filter, order: "newest", limit: count })) {
    found += page.length;
    place = (page.at(-1)?.seq ?? 0) - 1;
  }
  return found < count ? -1 : place;
}
