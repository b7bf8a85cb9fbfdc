import { ledgerOperations, type PlacedEntry } from "@reins/api";
import type { Fault, Progress } from "@reins/verify";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { focusSelected, useListKeys } from "../../app/keys.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, QualityBadge, VerdictBadge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { count, visible } from "../../design/format.ts";
import { classNames, Facts, Page, Panel, useNarrow } from "../../design/layout.tsx";
import { TextLink } from "../../design/markdown.tsx";
import { Empty, Failure, Loaded, ProgressBar } from "../../design/states.tsx";
import { keptCheckpoint } from "../../proof/compare.ts";
import { ComparisonLine } from "../../proof/comparison-view.tsx";
import { type VerifyReport, verify } from "../../proof/verify.ts";
import { entrySummary, useEntries, verdictOf } from "./entries.ts";
import { Filters, LedgerSearch } from "./filters.tsx";

const NEAR_END = 40;

/** A virtual list of entries. New entries do not move the entries in view. */
function EntryList({
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

/** The ledger, for admins. */
export function LedgerPage() {
  const { is_admin } = useSelf();
  return is_admin ? (
    <LedgerView />
  ) : (
    <Page title="Ledger" about={<ComparisonLine />}>
      <Empty title="Only admins may read the ledger">
        The actions of your agents are in their sessions. This browser still keeps the newest checkpoint and
        warns if the record changes.
      </Empty>
    </Page>
  );
}

function LedgerView() {
  const search = LedgerSearch.parse(useSearch({ strict: false }));
  const navigate = useNavigate();
  const { entries, pages, isLive } = useEntries(search);
  const { check, start, stop } = useLedgerCheck();
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <Page
      title="Ledger"
      about={<ComparisonLine />}
      actions={
        <>
          <Button onClick={start} disabled={check.kind === "running"}>
            Verify the ledger
          </Button>
          <a
            href={ledgerOperations.exportLedger.path}
            download="reins-ledger.jsonl"
            title="The whole ledger as JSON Lines, for reins ledger verify"
            className="inline-flex h-7 items-center rounded border border-line-strong bg-surface px-2.5 text-sm font-medium hover:bg-sunken"
          >
            Export
          </a>
        </>
      }
    >
      <LedgerCheckPanel check={check} onStop={stop} />
      <Filters
        search={search}
        onChange={(next) => void navigate({ to: "/ledger", search: next, replace: true })}
      />
      <Panel
        className="flex min-h-80 flex-1 flex-col"
        title="Entries, newest first"
        actions={
          <>
            <span className="hidden text-2xs text-ink-faint md:inline">
              <kbd>j</kbd> <kbd>k</kbd> select, <kbd>Enter</kbd> opens
            </span>
            {isLive ? <Badge tone="good">live</Badge> : <Badge>not live</Badge>}
          </>
        }
      >
        <Loaded query={pages} what="Loading the ledger">
          {() =>
            entries.length === 0 ? (
              <NoEntries search={search} />
            ) : (
              <EntryList key={JSON.stringify(search)} entries={entries} onEnd={onEnd} />
            )
          }
        </Loaded>
      </Panel>
    </Page>
  );
}

function NoEntries({ search }: { search: LedgerSearch }) {
  return Object.values(search).every((value) => value === undefined) ? (
    <Empty title="No entries yet">
      Every prompt, verdict, approval and change of policy is recorded here before it takes effect.{" "}
      <TextLink to="/sessions">Start a session</TextLink> to see entries.
    </Empty>
  ) : (
    <Empty title="No matching entries">Remove a filter. New matching entries appear automatically.</Empty>
  );
}

/** The result of verifying the whole ledger. */
export function LedgerCheckPanel({ check, onStop }: { check: LedgerCheck; onStop: () => void }) {
  if (check.kind === "none") return null;
  if (check.kind === "failed") return <Failure error={check.error} />;
  if (check.kind === "running") {
    const { entries = 0, total } = check.progress ?? {};
    return (
      <Panel title="Verifying the ledger in this page" actions={<Button onClick={onStop}>Stop</Button>}>
        <div className="flex flex-col gap-1.5 px-3 py-2 text-sm">
          <span role="status" className="tabular-nums">
            {count(entries)}
            {total !== undefined && ` of ${count(total)}`} entries
          </span>
          <ProgressBar label="Verifying" part={total && entries / total} />
        </div>
      </Panel>
    );
  }
  return <Result report={check.report} onClose={onStop} />;
}

function Result({ report, onClose }: { report: VerifyReport; onClose: () => void }) {
  const { ok, entries = 0, signatures = 0, checkpoints = 0, withheld = 0, seen, pinned } = report;
  return (
    <Panel
      title={
        <span className="flex items-center gap-2">
          {ok ? "The ledger holds" : "The ledger does not hold"}
          <Badge tone={ok ? "good" : "bad"}>{ok ? "verified" : "not verified"}</Badge>
        </span>
      }
      actions={
        <Button kind="quiet" onClick={onClose}>
          Close
        </Button>
      }
    >
      <Facts
        facts={{
          "Checked here": `${count(entries)} entries, ${count(signatures)} signatures, ${count(checkpoints)} checkpoints`,
          Key: pinned ? "the one this browser keeps" : "the one the ledger itself states",
          "Seen before": seenText(seen),
          Withheld: withheld > 0 && `${count(withheld)} pieces of private content are known by digest only`,
        }}
      />
      <FaultList faults={report.faults} />
    </Panel>
  );
}

function seenText(seen: VerifyReport["seen"]): string {
  if (!seen?.checked) return "this browser has nothing to compare with";
  const size = count(seen.size ?? 0);
  return seen.holds
    ? `it extends the ${size} entries that this browser saw`
    : `it is NOT the ledger that this browser saw at ${size} entries`;
}

/** The faults of a ledger or a proof, with their positions. */
export function FaultList({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  return (
    <ul className="flex max-h-72 flex-col gap-1.5 overflow-auto border-t border-line px-3 py-2 text-sm">
      {faults.map((fault) => (
        <li key={`${fault.seq}${fault.line}${fault.code}${fault.message}`}>
          <span className="font-medium text-bad">
            {fault.seq === undefined ? "" : `Entry ${fault.seq}: `}
            {visible(fault.message)}
          </span>{" "}
          <code className="text-2xs text-ink-faint">{fault.code}</code>
          {fault.expected !== undefined && (
            <p className="break-all text-ink-soft">expected {visible(fault.expected)}</p>
          )}
          {fault.found !== undefined && (
            <p className="break-all text-ink-soft">found {visible(fault.found)}</p>
          )}
        </li>
      ))}
    </ul>
  );
}

type LedgerCheck =
  | { readonly kind: "none" }
  | { readonly kind: "running"; readonly progress?: Progress }
  | { readonly kind: "done"; readonly report: VerifyReport }
  | { readonly kind: "failed"; readonly error: unknown };

/** Verifies the whole ledger on the page, against the key and the checkpoint that this browser keeps. */
function useLedgerCheck() {
  const [check, setCheck] = useState<LedgerCheck>({ kind: "none" });
  const running = useRef<AbortController>(undefined);
  const stop = useCallback(() => {
    running.current?.abort();
    setCheck({ kind: "none" });
  }, []);
  useEffect(() => () => running.current?.abort(), []);
  const start = useCallback(async () => {
    const controller = new AbortController();
    running.current = controller;
    setCheck({ kind: "running" });
    const kept = keptCheckpoint();
    try {
      const report = await verify(
        {
          kind: "ledger",
          address: ledgerOperations.exportLedger.path,
          ...(kept && { logKey: kept.logKey, seen: kept.note }),
        },
        {
          onProgress: (progress) => setCheck({ kind: "running", progress }),
          signal: controller.signal,
        },
      );
      setCheck({ kind: "done", report });
    } catch (error) {
      if (!controller.signal.aborted) setCheck({ kind: "failed", error });
    }
  }, []);
  return { check, start: () => void start(), stop };
}
