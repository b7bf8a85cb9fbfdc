import type { PlacedEntry } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { focusSelected, useListKeys } from "../../app/keys.ts";
import { QualityBadge, VerdictBadge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { classNames, useNarrow } from "../../design/layout.tsx";
import { visible } from "../../design/visible.ts";
import { entrySummary, verdictOf } from "./entries.ts";

const NEAR_END = 40;

/** A virtual list of entries. New entries do not move the entries in view. */
export function EntryList({
  entries,
  onEnd,
}: {
  entries: readonly PlacedEntry[];
  /** Called when the scroll position nears the end of the loaded entries. */
  onEnd: () => void;
}) {
  const narrow = useNarrow();
  const box = useRef<HTMLElement>(null);
  const { shown, waiting, release, onScroll } = useScrollAnchor(entries, box);
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => (narrow ? 52 : 30),
    getItemKey: (place) => shown[place]?.seq ?? place,
    overscan: 12,
  });
  const cids = useMemo(() => shown.map(({ entry }) => entry.cid), [shown]);
  const chosen = useListKeys(cids);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new entries must not scroll the list
  useEffect(() => {
    if (chosen !== undefined) rows.scrollToIndex(cids.indexOf(chosen));
  }, [chosen, rows]);
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last > shown.length - NEAR_END) onEnd();
  }, [last, shown.length, onEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows are measured anew when their height changes
  useEffect(() => rows.measure(), [narrow]);
  return (
    <div className="relative flex min-h-72 flex-1 flex-col">
      {waiting > 0 && (
        <div className="absolute inset-x-0 top-2 z-10 flex justify-center">
          <Button kind="primary" className="shadow-float" onClick={release}>
            {waiting} new {waiting === 1 ? "entry" : "entries"}
          </Button>
        </div>
      )}
      <section
        ref={box}
        onScroll={onScroll}
        aria-label="Entries"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="min-h-0 flex-1 overflow-auto"
      >
        <ol className="relative" style={{ height: rows.getTotalSize() }}>
          {items.map(({ key, index, start, size }) => {
            const placed = shown[index];
            return (
              placed && (
                <li
                  key={key}
                  className="absolute inset-x-0 top-0"
                  style={{ height: size, transform: `translateY(${start}px)` }}
                >
                  <EntryRow placed={placed} isChosen={placed.entry.cid === chosen} />
                </li>
              )
            );
          })}
        </ol>
      </section>
    </div>
  );
}

/** How many entries are newer than one, of a list that is newest first; none if no entry is given. */
export function newerThan(
  entries: readonly Pick<PlacedEntry, "seq">[],
  firstShown: number | undefined,
): number {
  if (firstShown === undefined) return 0;
  const place = entries.findIndex(({ seq }) => seq <= firstShown);
  return Math.max(0, place);
}

/** Holds new entries back while the list is scrolled away from the top. */
function useScrollAnchor(entries: readonly PlacedEntry[], box: React.RefObject<HTMLElement | null>) {
  const [firstShown, setFirstShown] = useState<number>();
  const waiting = newerThan(entries, firstShown);
  const onScroll = () => {
    const isAway = (box.current?.scrollTop ?? 0) > 8;
    setFirstShown((before) => (isAway ? (before ?? entries[0]?.seq) : undefined));
  };
  const release = () => {
    setFirstShown(undefined);
    box.current?.scrollTo({ top: 0 });
  };
  return { shown: waiting > 0 ? entries.slice(waiting) : entries, waiting, release, onScroll };
}

const EntryRow = memo(function EntryRow({ placed, isChosen }: { placed: PlacedEntry; isChosen: boolean }) {
  const { seq, entry } = placed;
  const verdict = verdictOf(entry);
  const at = new Date(entry.timestamp);
  return (
    <Link
      to="/ledger/$cid"
      params={{ cid: entry.cid }}
      ref={isChosen ? focusSelected : undefined}
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
      <span className="truncate max-md:col-start-2">{visible(entrySummary(entry))}</span>
      <span className="hidden font-mono text-2xs text-ink-faint md:block">{entry.cid.slice(0, 10)}</span>
    </Link>
  );
});
