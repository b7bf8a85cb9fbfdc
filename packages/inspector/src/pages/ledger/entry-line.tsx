import type { PlacedEntry } from "@reins/api";
import { QualityBadge } from "../../design/quality.tsx";
import { VerdictBadge } from "../../design/verdict.tsx";
import { visible } from "../../design/visible.ts";
import { EntryLink } from "../../proof/entry-link.tsx";
import { gistOf, verdictOf } from "./gist.ts";

/** An entry in few words, which lead to it. */
export function EntryLine({
  placed: { seq, entry },
  isThis = false,
}: {
  placed: PlacedEntry;
  isThis?: boolean;
}) {
  const verdict = verdictOf(entry);
  return (
    <>
      <span className="flex flex-wrap items-center gap-1.5">
        <span className="font-mono text-2xs text-ink-faint">{seq}</span>
        <QualityBadge quality={entry.quality} />
        {verdict !== undefined && <VerdictBadge verdict={verdict} />}
        {isThis ? <span className="font-mono text-xs">this entry</span> : <EntryLink cid={entry.cid} />}
      </span>
      <span className="block truncate text-2xs text-ink-soft">{visible(gistOf(entry))}</span>
    </>
  );
}
