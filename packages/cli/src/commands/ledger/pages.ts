import type { EntryRange, LedgerReader, PlacedEntry } from "@reins/ledger";

const PAGE = 500;

export type EntryFilter = Pick<EntryRange, "entity_id" | "quality" | "actor" | "tag" | "since" | "until">;

interface PageOptions {
  readonly filter: EntryFilter;
  readonly order: "oldest" | "newest";
  /** Entries after this position, or before it when the newest come first. */
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

/** Yields entries in pages, so that memory does not grow with the ledger. */
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

/** The position before the newest `count` entries; before all when there are fewer. */
export async function cursorBefore(
  ledger: Pick<LedgerReader, "read" | "size">,
  filter: EntryFilter,
  count: number,
): Promise<number> {
  let position = (await ledger.size()) - 1;
  let found = 0;
  for await (const page of entryPages(ledger, { filter, order: "newest", limit: count })) {
    found += page.length;
    position = (page.at(-1)?.seq ?? 0) - 1;
  }
  return found < count ? -1 : position;
}

type FollowedLedger = Pick<LedgerReader, "read" | "size">;

interface FollowOptions {
  readonly filter: EntryFilter;
  readonly after: number;
  /** Resolves when it is time to poll again. */
  readonly pause: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Yields new entries, each once and in order. Polls only the size, which is cheap; entries below a size seen once
 * are complete, because they are numbered in commit order.
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
