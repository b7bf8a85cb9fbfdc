import { studyOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../api/call.ts";
import { Panel } from "../design/panel.tsx";
import { Failure, Waiting } from "../design/states.tsx";
import { DraftSays } from "./draft-says.tsx";
import { ExplanationView } from "./explanation-view.tsx";

/** Why a verdict is what it is, for the entry that holds it. */
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
          <DraftSays cid={cid} recorded={data.recorded?.verdict ?? data.said.verdict} />
        </>
      ) : (
        <Waiting what="Deciding it again to see why" />
      )}
    </Panel>
  );
}
