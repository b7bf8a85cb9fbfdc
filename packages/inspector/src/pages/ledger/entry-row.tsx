import type { PlacedEntry } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { memo } from "react";
import { classNames } from "../../design/class-names.ts";
import { QualityBadge } from "../../design/quality.tsx";
import { takeFocus } from "../../design/use-list-keys.ts";
import { VerdictBadge } from "../../design/verdict.tsx";
import { visible } from "../../design/visible.ts";
import { gistOf, verdictOf } from "./gist.ts";

/** One entry in the log: where it stands, when, what, who. */
export const EntryRow = memo(function EntryRow({
  placed,
  isChosen,
}: {
  placed: PlacedEntry;
  isChosen: boolean;
}) {
  const { seq, entry } = placed;
  const verdict = verdictOf(entry);
  const at = new Date(entry.timestamp);
  return (
    <Link
      to="/ledger/$cid"
      params={{ cid: entry.cid }}
      ref={isChosen ? takeFocus : undefined}
      className={classNames(
        "grid h-full grid-cols-[2.5rem_minmax(0,1fr)] items-center gap-x-3 border-b border-line px-3 text-sm hover:bg-sunken md:grid-cols-[4rem_6.5rem_13rem_9rem_minmax(0,1fr)_6rem]",
        isChosen && "bg-accent-wash",
      )}
    >
      <span className="text-right font-mono text-xs text-ink-faint tabular-nums">{seq}</span>
      <time
        dateTime={entry.timestamp}
        title={at.toLocaleString()}
        className="hidden font-mono text-xs text-ink-soft md:block"
      >
        {at.toLocaleTimeString("en-GB")}
      </time>
      <span className="flex min-w-0 items-center gap-1.5">
        <QualityBadge quality={entry.quality} />
        {verdict !== undefined && <VerdictBadge verdict={verdict} />}
      </span>
      <span className="hidden truncate text-ink-soft md:block" title={entry.actor}>
        {visible(entry.actor)}
      </span>
      <span className="truncate max-md:col-start-2">{visible(gistOf(entry))}</span>
      <span className="hidden font-mono text-2xs text-ink-faint md:block">{entry.cid.slice(0, 10)}</span>
    </Link>
  );
});
