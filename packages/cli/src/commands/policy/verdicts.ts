import type { LedgerReader } from "@reins/ledger";
import { pastVerdicts } from "@reins/supervisor";
import { wholeNumber } from "../../flags.ts";
import { readMoment } from "../../time.ts";

/** The flags that say which verdicts of the past are meant. */
export interface VerdictFlags {
  readonly since?: string;
  readonly limit?: string;
}

/** Which verdicts of the past. */
export interface VerdictRange {
  readonly since: string | undefined;
  /** At most so many, the newest of them. */
  readonly limit: number | undefined;
}

/** Reads the flags. */
export function settleRange({ since, limit }: VerdictFlags, now: Date): VerdictRange {
  return {
    since: since === undefined ? undefined : readMoment(since, "--since", now),
    limit: limit === undefined ? undefined : wholeNumber(limit, "--limit", 1),
  };
}

/** The verdicts in a ledger, the oldest first, page by page. */
export async function eachVerdict(
  ledger: Pick<LedgerReader, "read" | "readStored">,
  range: VerdictRange,
  take: (entry: string, payload: unknown) => void,
): Promise<void> {
  for await (const { entry } of pastVerdicts(ledger, range)) take(entry.cid, entry.payload);
}
