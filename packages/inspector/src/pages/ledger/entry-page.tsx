import { ledgerOperations, type PlacedEntry } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { z } from "zod";
import { call, useGet } from "../../api/queries.ts";
import { Badge, QualityBadge, VerdictBadge } from "../../design/badge.tsx";
import { Hash } from "../../design/button.tsx";
import { Json } from "../../design/code.tsx";
import { visible, words } from "../../design/format.ts";
import { classNames, Facts, Page, Panel } from "../../design/layout.tsx";
import { EntryLink, TextLink } from "../../design/markdown.tsx";
import { Loaded } from "../../design/states.tsx";
import { ProvePanel } from "../../proof/prove-panel.tsx";
import { WhyPanel } from "../../why/why-panel.tsx";
import { entrySummary, useEntry, verdictOf } from "./entries.ts";

const AROUND = 4;

/** The entries of the session before and after an entry. */
function ChainPanel({ placed }: { placed: PlacedEntry }) {
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

/** One entry of the ledger with its explanation and proof. */
export function EntryPage() {
  const { cid } = useParams({ from: "/ledger/$cid" });
  return (
    <Loaded query={useEntry(cid)} what="Loading the entry">
      {(placed) => <EntryView key={cid} placed={placed} />}
    </Loaded>
  );
}

function EntryView({ placed }: { placed: PlacedEntry }) {
  const { entry, seq } = placed;
  const { cid } = entry;
  return (
    <Page
      title={`Entry ${seq}: ${words(entry.quality)}`}
      about={visible(entrySummary(entry))}
      actions={
        <Link
          to="/ledger"
          search={{ session: entry.entity_id }}
          className="text-sm text-accent hover:underline"
        >
          All entries of the session
        </Link>
      }
    >
      <div className="grid min-w-0 items-start gap-3 lg:grid-cols-[minmax(0,1fr)_26rem]">
        <div className="flex min-w-0 flex-col gap-3">
          {entry.quality === "policy_verdict" && <WhyPanel cid={cid} />}
          <CoveredPanel placed={placed} />
          <Panel title="Fields">
            <EntryFields entry={entry} />
          </Panel>
          <Panel title="Payload">
            <Json value={entry.payload} className="max-h-[32rem] rounded-none" />
          </Panel>
        </div>
        <div className="flex min-w-0 flex-col gap-3">
          <ProvePanel cid={cid} />
          <AttestationPanel entry={entry} />
          <ChainPanel placed={placed} />
        </div>
      </div>
    </Page>
  );
}

/** All members of an entry but the payload. */
function EntryFields({ entry }: { entry: PlacedEntry["entry"] }) {
  const { cid, entity_id, target, quality, timestamp, source, actor, parents, tags, proof, envelope } = entry;
  const exact = (text: string) => <code className="text-xs break-all">{visible(text)}</code>;
  return (
    <Facts
      facts={{
        cid: exact(cid),
        entity_id: exact(entity_id),
        target: exact(target),
        quality: <QualityBadge quality={quality} />,
        timestamp: exact(timestamp),
        source: exact(source),
        actor: exact(actor),
        parents:
          parents.length === 0
            ? "none: it is the first of its chain"
            : parents.map((parent) => <EntryLink key={parent} cid={parent} />),
        tags: (
          <span className="flex flex-wrap gap-1">
            {tags.map((tag) => (
              <Link key={tag} to="/ledger" search={{ tag }} title={`All entries with the tag ${tag}`}>
                <Badge>{visible(tag)}</Badge>
              </Link>
            ))}
          </span>
        ),
        payload: "below",
        proof: proof === null ? "none" : exact(String(Object(proof).type)),
        envelope:
          envelope === null || envelope === undefined
            ? "none: it is not sealed"
            : exact(`sealed for ${String(Object(envelope).audience_label)}`),
      }}
    />
  );
}

const Attestation = z.looseObject({
  type: z.literal("attestation"),
  key_id: z.string(),
  signature: z.string(),
  rules_checked: z.array(z.string()),
  predicate_results: z.array(z.boolean()),
});

/** The signatures of an entry. */
function AttestationPanel({ entry }: { entry: PlacedEntry["entry"] }) {
  const { data: attestation } = Attestation.safeParse(entry.proof);
  const keys = useGet(["ledger-keys"], ledgerOperations.listLedgerKeys, {
    enabled: attestation !== undefined,
    staleTime: 60_000,
  });
  if (!attestation) return null;
  const key = keys.data?.keys.find(({ key_id }) => key_id === attestation.key_id);
  const checked = attestation.rules_checked.map(
    (rule, place) => `${rule}: ${attestation.predicate_results[place] ? "holds" : "does not hold"}`,
  );
  return (
    <Panel title="Attestation">
      <Facts
        facts={{
          "Signed by": key?.holder ?? entry.actor,
          Key: <Hash value={attestation.key_id} length={16} />,
          Announced:
            key &&
            `in entry ${key.announced}${key.retired === null ? "" : `, retired by entry ${key.retired}`}`,
          Signature: <Hash value={attestation.signature} length={24} />,
          Checked: checked.join(", "),
        }}
      />
    </Panel>
  );
}
