import { ApiError } from "@reins/sdk";
import { useSelf } from "../../app/sign-in.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { TextLink } from "../../design/links.tsx";
import { Moment } from "../../design/moment.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { AgentReports, useOverview } from "../runs/agent-reports.tsx";
import { RunsPanel } from "../runs/runs-panel.tsx";
import { Charts, Figures, PercentilePanel, VerdictMix } from "./figures.tsx";
import { BoardPanel, MailPanel } from "./mail-and-board.tsx";

/** The state of the server at a glance. */
export function OverviewPage() {
  const { is_admin } = useSelf();
  const { data, error, refetch } = useOverview();
  // The server rejects admins of tenants other than the operator's.
  const isOthers = !is_admin || (error instanceof ApiError && error.status === 403);
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
      {!data && !error && !isOthers && <Waiting what="Loading the overview" />}
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
      {isOthers && <p className="text-sm text-ink-soft">Server metrics are visible to the operator only.</p>}
      <div className="grid min-w-0 items-start gap-3 xl:grid-cols-3">
        <div className="flex min-w-0 flex-col gap-3">
          <RunsPanel />
          <AgentReports />
        </div>
        <MailPanel />
        <BoardPanel />
      </div>
    </Page>
  );
}

const STEP =
  "flex flex-col gap-1 border-line p-4 max-lg:border-t max-lg:first:border-t-0 lg:border-l lg:first:border-l-0";

/** A short tour for the first visit. */
function FirstSteps() {
  return (
    <Panel title="Three things to try">
      <ol className="grid lg:grid-cols-3">
        <li className={STEP}>
          <p className="font-medium">1. Talk to an agent</p>
          <p className="text-sm text-ink-soft">
            <TextLink to="/sessions" search={{ start: true }}>
              Start a session
            </TextLink>{" "}
            with the native agent. It needs no account and comes with Reins. Or{" "}
            <TextLink to="/agents">install another</TextLink>.
          </p>
        </li>
        <li className={STEP}>
          <p className="font-medium">2. See an action blocked</p>
          <p className="text-sm text-ink-soft">
            Ask it to <code>read .env</code>: the constitution blocks that. Ask it to <code>run `make`</code>:
            it waits for you in <TextLink to="/approvals">approvals</TextLink>.
          </p>
        </li>
        <li className={STEP}>
          <p className="font-medium">3. See the proof</p>
          <p className="text-sm text-ink-soft">
            Open the verdict in the <TextLink to="/ledger">ledger</TextLink>: which rule decided and why, and
            the proof, checked by this page itself.
          </p>
        </li>
      </ol>
    </Panel>
  );
}
