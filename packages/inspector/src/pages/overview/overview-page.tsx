import { metricsOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { ProblemError } from "../../api/problem.ts";
import { useSelf } from "../../app/entrance.tsx";
import { Moment } from "../../design/moment.tsx";
import { Page } from "../../design/page.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { BoardPanel } from "./board-panel.tsx";
import { Charts } from "./charts.tsx";
import { Figures } from "./figures.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { MailPanel } from "./mail-panel.tsx";
import { PercentilePanel } from "./percentile-panel.tsx";
import { RunsPanel } from "./runs-panel.tsx";
import { VerdictMix } from "./verdict-mix.tsx";

/** How this Reins does, in one look. */
export function OverviewPage() {
  const { is_admin } = useSelf();
  const { data, error, refetch } = useQuery({
    queryKey: ["overview"],
    queryFn: ({ signal }) => call(metricsOperations.getOverview, { signal }),
    refetchInterval: 5_000,
    enabled: is_admin,
  });
  // Admins of other tenants are told so by the server.
  const isOthers = !is_admin || (error instanceof ProblemError && error.status === 403);
  return (
    <Page
      title="Overview"
      about={
        data && (
          <>
            Reins {data.version}, started <Moment at={data.started_at} />
          </>
        )
      }
    >
      {error && !isOthers && <Failure error={error} onRetry={() => void refetch()} />}
      {!data && !error && !isOthers && <Waiting what="Asking how everything does" />}
      {data && (
        <>
          {data.decisions.total === 0 && <FirstSteps />}
          <Figures overview={data} />
          {data.decisions.total > 0 && (
            <>
              <div className="grid min-w-0 gap-3 xl:grid-cols-2">
                <VerdictMix overview={data} />
                <PercentilePanel overview={data} />
              </div>
              <Charts overview={data} />
            </>
          )}
        </>
      )}
      {isOthers && (
        <p className="text-sm text-ink-soft">
          How the whole of this Reins does is for its operator. What concerns you is below.
        </p>
      )}
      <div className="grid min-w-0 items-start gap-3 xl:grid-cols-3">
        <RunsPanel />
        <MailPanel />
        <BoardPanel />
      </div>
    </Page>
  );
}
