import type { LedgerReader, PlacedEntry } from "@reins/ledger";
import type { EntryFilter } from "./log.ts";

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
export async function* entryPages(
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
export async function cursorBefore(
  ledger: Pick<LedgerReader, "read" | "size">,
  filter: EntryFilter,
  count: number,
): Promise<number> {
  let place = (await ledger.size()) - 1;
  let found = 0;
  for await (const page of entryPages(ledger, { filter, order: "newest", limit: count })) {
    found += page.length;
    place = (page.at(-1)?.seq ?? 0) - 1;
  }
  return found < count ? -1 : place;
}

/** What is needed of a ledger to follow it. */
type FollowedLedger = Pick<LedgerReader, "read" | "size">;

/** How to follow. */
interface FollowOptions {
  readonly filter: EntryFilter;
  /** The place behind which to begin. */
  readonly after: number;
  /** Settles when it is time to look again; rejects or returns when following ends. */
  readonly pause: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Entries as they come, each once and in order. Asks for the size alone until that has grown, which costs next to
 * nothing; entries are numbered in the order of their commits, so what lies below a size seen once is all there.
 */
export async function* follow(ledger: FollowedLedger, options: FollowOptions): AsyncGenerator<PlacedEntry[]> {
  const { filter, pause, signal } = options;
  let after = options.after;
  while (!signal.aborted) {
    const size = await ledger.size();
    if (size > after + 1) {
      for await (const page of entryPages(ledger, { filter, order: "oldest", after })) {
        yield page;
        after = page.at(-1)?.seq ?? after;
      }
      after = Math.max(after, size - 1);
    }
    await pause();
  }
}
