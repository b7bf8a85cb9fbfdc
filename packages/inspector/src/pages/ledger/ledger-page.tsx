import { ledgerOperations } from "@reins/api";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { TextLink } from "../../design/links.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { ComparisonLine } from "../../proof/comparison-view.tsx";
import { useEntries } from "./entries.ts";
import { EntryList } from "./entry-list.tsx";
import { Filters, LedgerSearch } from "./filters.tsx";
import { LedgerCheckPanel, useLedgerCheck } from "./ledger-check.tsx";

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
