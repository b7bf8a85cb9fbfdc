import type { LedgerReader, PlacedEntry } from "@reins/ledger";
import { pagesOf } from "./pages.ts";
import type { EntryFilter } from "./settings.ts";

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
      for await (const page of pagesOf(ledger, { filter, order: "oldest", after })) {
        yield page;
        after = page.at(-1)?.seq ?? after;
      }
      after = Math.max(after, size - 1);
    }
    await pause();
  }
}
