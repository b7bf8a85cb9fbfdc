import { studyOperations } from "@reins/api";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "../api/call.ts";
import { VerdictBadge } from "../design/badge.tsx";
import { Button } from "../design/button.tsx";
import { Panel } from "../design/layout.tsx";
import { Failure, Waiting } from "../design/states.tsx";
import { visible } from "../design/visible.ts";
import { useDraft } from "./draft.ts";
import { ExplanationView } from "./explanation-view.tsx";

/** Explains the verdict of a ledger entry. */
export function WhyPanel({ cid }: { cid: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["explanation", cid],
    queryFn: ({ signal }) => call(studyOperations.explainPolicy, { body: { entry: cid }, signal }),
    staleTime: 60_000,
  });
  return (
    <Panel title="Why">
      {error ? (
        <div className="p-3">
          <Failure error={error} onRetry={() => void refetch()} />
        </div>
      ) : data ? (
        <>
          <ExplanationView explanation={data} />
          <DraftVerdict cid={cid} recorded={data.recorded?.verdict ?? data.said.verdict} />
        </>
      ) : (
        <Waiting what="Loading the explanation" />
      )}
    </Panel>
  );
}

/** Decides one action by the draft of this browser. */
function DraftVerdict({ cid, recorded }: { cid: string; recorded: string }) {
  const draft = useDraft();
  const asking = useMutation({
    mutationFn: () => call(studyOperations.explainPolicy, { body: { entry: cid, ...draft } }),
  });
  const said = asking.data?.said;
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2 text-sm">
      {draft ? (
        <Button onClick={() => asking.mutate()} disabled={asking.isPending}>
          {asking.isPending ? "Deciding …" : "What would my draft have done?"}
        </Button>
      ) : (
        <span className="text-ink-soft">
          <Link to="/policy" search={{ tab: "draft" }} className="text-accent underline">
            Write a draft of the constitution
          </Link>{" "}
          to see its verdict here.
        </span>
      )}
      {said && (
        <p role="status" className="flex flex-wrap items-center gap-1.5">
          <VerdictBadge verdict={said.verdict} />
          {said.verdict === recorded ? "the same" : `instead of ${recorded}`}, {ruleText(said.rule)}:{" "}
          {visible(said.reason)}
        </p>
      )}
      {asking.error && <Failure error={asking.error} />}
    </div>
  );
}

function ruleText(rule: string | null): string {
  return rule === null ? "by no rule" : `by ${rule}`;
}
