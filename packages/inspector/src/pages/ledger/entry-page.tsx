import { ledgerOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { call } from "../../api/call.ts";
import { Json } from "../../design/code.tsx";
import { Page } from "../../design/page.tsx";
import { Panel } from "../../design/panel.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";
import { ProvePanel } from "../../proof/prove-panel.tsx";
import { WhyPanel } from "../../why/why-panel.tsx";
import { AttestationPanel } from "./attestation-panel.tsx";
import { ChainPanel } from "./chain-panel.tsx";
import { CoveredPanel } from "./covered-panel.tsx";
import { EntryFields } from "./entry-fields.tsx";
import { gistOf } from "./gist.ts";

/** One entry of the ledger: what it says, why, and the proof of it. */
export function EntryPage() {
  const { cid } = useParams({ from: "/ledger/$cid" });
  const { data, error, refetch } = useQuery({
    queryKey: ["entry", cid],
    queryFn: ({ signal }) => call(ledgerOperations.getEntry, { params: { cid }, signal }),
    staleTime: Infinity,
  });
  if (!data)
    return (
      <Page title="Entry">
        {error ? (
          <Failure error={error} onRetry={() => void refetch()} />
        ) : (
          <Waiting what="Fetching the entry" />
        )}
      </Page>
    );
  const { entry, seq } = data;
  return (
    <Page
      title={`Entry ${seq}: ${entry.quality.replaceAll("_", " ")}`}
      about={visible(gistOf(entry))}
      actions={
        <Link
          to="/ledger"
          search={{ session: entry.entity_id }}
          className="text-sm text-accent hover:underline"
        >
          All of its session
        </Link>
      }
    >
      <div className="grid min-w-0 items-start gap-3 lg:grid-cols-[minmax(0,1fr)_26rem]">
        <div className="flex min-w-0 flex-col gap-3">
          {entry.quality === "policy_verdict" && <WhyPanel key={cid} cid={cid} />}
          <CoveredPanel key={cid} placed={data} />
          <Panel title="The twelve fields">
            <EntryFields entry={entry} />
          </Panel>
          <Panel title="Payload">
            <Json value={entry.payload} className="max-h-[32rem] rounded-none" />
          </Panel>
        </div>
        <div className="flex min-w-0 flex-col gap-3">
          <ProvePanel key={cid} cid={cid} />
          <AttestationPanel entry={entry} />
          <ChainPanel placed={data} />
        </div>
      </div>
    </Page>
  );
}
