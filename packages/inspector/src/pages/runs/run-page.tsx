import { type Run, runOperations } from "@reins/api";
import { useParams } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { StatusBadge } from "../../design/badge.tsx";
import { visible } from "../../design/format.ts";
import { Facts, Page, Panel } from "../../design/layout.tsx";
import { SessionLink } from "../../design/markdown.tsx";
import { Moment } from "../../design/moment.tsx";
import { Loaded } from "../../design/states.tsx";
import { AgentReports } from "./agent-reports.tsx";
import { GraphRunPage } from "./graph/graph-view.tsx";
import { runState } from "./run-events.ts";
import { Checks, RunEvents, StatusList } from "./run-history.tsx";

/** One run: its graph if it has one, otherwise its state, tasks, checks and every event, rejected ones included. */
export function RunPage() {
  const { id } = useParams({ from: "/runs/$id" });
  return (
    <Loaded query={useGet(["runs", id], runOperations.getRun, { params: { id } })} what="Loading the run">
      {(run) =>
        run.has_graph === true ? <GraphRunPage key={id} run={run} /> : <RunView key={id} run={run} />
      }
    </Loaded>
  );
}

function RunView({ run }: { run: Run }) {
  const state = runState(run);
  return (
    <Page title={visible(state.name)} about={`Run ${run.run_id}`}>
      <div className="grid min-w-0 items-start gap-3 xl:grid-cols-[minmax(0,1fr)_26rem]">
        <Panel title="Events" className="min-w-0">
          <RunEvents id={run.run_id} />
        </Panel>
        <div className="flex min-w-0 flex-col gap-3 max-xl:order-first">
          <Panel title="State">
            <RunFacts run={run} />
          </Panel>
          {state.tasks.length > 0 && (
            <Panel title="Tasks">
              <StatusList
                lines={state.tasks.map(({ id, title, status }) => ({ key: id ?? title, title, status }))}
              />
            </Panel>
          )}
          <Checks run={run} />
          <AgentReports session={run.session_id} />
        </div>
      </div>
    </Page>
  );
}

function RunFacts({ run }: { run: Run }) {
  const { lifecycle, verification } = runState(run);
  return (
    <Facts
      facts={{
        Status: lifecycle ? <StatusBadge status={lifecycle.status} /> : "unknown",
        Verification: verification ? <StatusBadge status={verification.status} /> : "not verified",
        Result: visible(lifecycle?.result_summary ?? ""),
        Error: visible(lifecycle?.error ?? ""),
        Updated: <Moment at={run.updated_at} />,
        Session: <SessionLink id={run.session_id} length={16} />,
      }}
    />
  );
}
