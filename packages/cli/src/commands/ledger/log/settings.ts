import { EntryQuality, type EntryRange } from "@reins/ledger";
import { CliError } from "../../../errors.ts";
import { wholeNumber } from "../../../flags.ts";
import type { LedgerFlags } from "../../../ledger/open-ledger.ts";
import { readMoment } from "../../../time.ts";

/** The flags of `reins ledger log` as they were written. */
export interface LogFlags extends LedgerFlags {
  readonly session?: string;
  readonly quality?: string;
  readonly actor?: string;
  readonly tag?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly newest?: boolean;
  readonly follow?: boolean;
}

/** Which entries. */
export type EntryFilter = Pick<EntryRange, "entity_id" | "quality" | "actor" | "tag" | "since" | "until">;

/** What `reins ledger log` is to show, and how. */
export interface LogSettings {
  readonly filter: EntryFilter;
  /** At most so many, the newest of them. */
  readonly limit: number | undefined;
  readonly newestFirst: boolean;
  readonly follow: boolean;
}

/** How many entries one begins with who follows and does not say. */
const BEFORE_FOLLOWING = 10;

/** Reads the flags. */
export function settleLog(flags: LogFlags, now: Date): LogSettings {
  const follow = flags.follow ?? false;
  if (follow && (flags.newest || flags.until !== undefined)) {
    throw new CliError("--follow shows what comes, so it goes with neither --newest nor --until.", {
      next: "Leave one of them out.",
    });
  }
  const limit = flags.limit === undefined ? undefined : wholeNumber(flags.limit, "--limit");
  return {
    filter: filterOf(flags, now),
    limit: limit ?? (follow ? BEFORE_FOLLOWING : undefined),
    newestFirst: flags.newest ?? false,
    follow,
  };
}

function filterOf({ session, quality, actor, tag, since, until }: LogFlags, now: Date): EntryFilter {
  return {
    entity_id: session,
    quality: quality === undefined ? undefined : readQuality(quality),
    actor,
    tag,
    since: since === undefined ? undefined : readMoment(since, "--since", now),
    until: until === undefined ? undefined : readMoment(until, "--until", now),
  };
}

function readQuality(text: string): EntryQuality {
  const quality = EntryQuality.options.find((each) => each === text);
  if (quality) return quality;
  throw new CliError(`--quality is "${text}".`, { next: `Use one of: ${EntryQuality.options.join(", ")}.` });
}
