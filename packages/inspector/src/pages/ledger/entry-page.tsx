import { ledgerOperations, type PlacedEntry } from "@reins/api";
import { Link, useParams } from "@tanstack/react-router";
import { z } from "zod";
import { useGet } from "../../api/queries.ts";
import { Badge, QualityBadge } from "../../design/badge.tsx";
import { Hash } from "../../design/button.tsx";
import { Json } from "../../design/code.tsx";
import { words } from "../../design/format.ts";
import { Facts, Page, Panel } from "../../design/layout.tsx";
import { EntryLink } from "../../design/links.tsx";
import { Loaded } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";
import { ProvePanel } from "../../proof/prove-panel.tsx";
import { WhyPanel } from "../../why/why-panel.tsx";
import { entrySummary, useEntry } from "./entries.ts";
import { ChainPanel, CoveredPanel } from "./entry-chain.tsx";

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
