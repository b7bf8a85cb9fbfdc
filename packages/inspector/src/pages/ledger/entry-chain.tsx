import { ledgerOperations, type PlacedEntry } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { useGet } from "../../api/queries.ts";
import { QualityBadge, VerdictBadge } from "../../design/badge.tsx";
import { classNames, Panel } from "../../design/layout.tsx";
import { EntryLink, TextLink } from "../../design/links.tsx";
import { Loaded } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";
import { entrySummary, verdictOf } from "./entries.ts";

const AROUND = 4;

/** The entries of the session before and after an entry. */
export function ChainPanel({ placed }: { placed: PlacedEntry }) {
  const { seq, entry } = placed;
  const query = useQuery({
    queryKey: ["chain", entry.cid],
    queryFn: async ({ signal }) => {
      const around = (order: "oldest" | "newest") =>
        call(ledgerOperations.listEntries, {
          query: { session: entry.entity_id, order, after: seq, limit: AROUND },
          signal,
        });
      const [before, after] = await Promise.all([around("newest"), around("oldest")]);
      return [...before.entries.toReversed(), placed, ...after.entries];
    },
  });
  return (
    <Panel title="Chain of the session">
      <Loaded query={query} what="Loading neighbouring entries">
        {(chain) => (
          <ol className="px-3 py-2">
            {chain.map((link) => (
              <ChainLink key={link.seq} placed={link} isThis={link.seq === seq} />
            ))}
          </ol>
        )}
      </Loaded>
    </Panel>
  );
}

function ChainLink({ placed, isThis }: { placed: PlacedEntry; isThis: boolean }) {
  return (
    <li
      className={classNames(
        "relative ml-1.5 border-l pb-2.5 pl-4 text-sm last:pb-0",
        isThis ? "border-accent" : "border-line-strong",
      )}
    >
      <span
        aria-hidden="true"
        className={classNames(
          "absolute top-1.5 -left-[4.5px] size-2 rounded-full",
          isThis ? "bg-accent" : "bg-line-strong",
        )}
      />
      <EntryLine placed={placed} isThis={isThis} />
    </li>
  );
}

/** The entries that an entry refers to: the verdict of a call, the steps of a turn, its approval. */
export function CoveredPanel({ placed }: { placed: PlacedEntry }) {
  const { quality, payload } = placed.entry;
  const { verdict, approval, entries } = Object(payload);
  if (quality === "turn") return <TurnPanel placed={placed} cids={cidsIn(entries)} />;
  if (quality === "approval" && typeof approval === "string")
    return (
      <Panel title="The approval">
        <p className="px-3 py-2 text-sm">
          <TextLink to="/approvals" search={{ approval }}>
            Request and answer
          </TextLink>
        </p>
      </Panel>
    );
  if (quality !== "tool_call" && quality !== "tool_result") return null;
  const [cid] = cidsIn([verdict]);
  return cid === undefined ? (
    <Panel title="No verdict before">
      <p className="px-3 py-2 text-sm text-ink-soft">
        The agent did not ask before this action. The later verdict is in the following entries.
      </p>
    </Panel>
  ) : (
    <Panel title="The verdict before">
      <p className="px-3 py-2 text-sm">
        <EntryLink cid={cid}>Explanation and proof</EntryLink>
      </p>
    </Panel>
  );
}

function cidsIn(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter((one) => typeof one === "string" && /^[0-9a-f]{64}$/.test(one))
    : [];
}

const MOST = 500;

function TurnPanel({ placed, cids }: { placed: PlacedEntry; cids: readonly string[] }) {
  const { seq, entry } = placed;
  const { data } = useGet(["turn", entry.cid], ledgerOperations.listEntries, {
    query: { session: entry.entity_id, order: "newest", after: seq, limit: MOST },
    staleTime: Infinity,
  });
  const found = new Map(data?.entries.map((one) => [one.entry.cid, one]));
  return (
    <Panel title={`Entries of this turn: ${cids.length}`}>
      <ol className="grid max-h-96 gap-x-4 gap-y-1.5 overflow-auto px-3 py-2 text-sm md:grid-cols-2">
        {cids.map((cid) => {
          const one = found.get(cid);
          return (
            <li key={cid} className="min-w-0">
              {one ? <EntryLine placed={one} /> : <EntryLink cid={cid} />}
            </li>
          );
        })}
      </ol>
    </Panel>
  );
}

function EntryLine({ placed: { seq, entry }, isThis = false }: { placed: PlacedEntry; isThis?: boolean }) {
  const verdict = verdictOf(entry);
  return (
    <>
      <span className="flex flex-wrap items-center gap-1.5">
        <span className="font-mono text-2xs text-ink-faint">{seq}</span>
        <QualityBadge quality={entry.quality} />
        {verdict !== undefined && <VerdictBadge verdict={verdict} />}
        {isThis ? <span className="font-mono text-xs">this entry</span> : <EntryLink cid={entry.cid} />}
      </span>
      <span className="block truncate text-2xs text-ink-soft">{visible(entrySummary(entry))}</span>
    </>
  );
}
