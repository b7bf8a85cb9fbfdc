import { type Run, runOperations } from "@reins/api";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { call } from "../../api/call.ts";
import { type TailSource, useTail } from "../../api/tail.ts";
import { Badge } from "../../design/badge.tsx";
import { Facts, Page, Panel } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";
import { AgentReports } from "./agent-reports.tsx";
import { fetchRunEvents, type RunEvent, runState, type Transition, transitions } from "./run-events.ts";
import { RunStatus } from "./runs-panel.tsx";

/** One run: its state, its tasks and checks, and every event of it, rejected ones included. */
export function RunPage() {
  const { id } = useParams({ from: "/runs/$id" });
  const { data, error, refetch } = useQuery({
    queryKey: ["runs", id],
    queryFn: ({ signal }) => call(runOperations.getRun, { params: { id }, signal }),
  });
  if (error && !data)
    return (
      <div className="p-4">
        <Failure error={error} onRetry={() => void refetch()} />
      </div>
    );
  if (!data) return <Waiting what="Loading the run" />;
  return <LoadedRun key={id} run={data} />;
}

function LoadedRun({ run }: { run: Run }) {
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
          {state.verification && state.verification.checks.length > 0 && (
            <Panel title="Checks">
              <StatusList
                lines={state.verification.checks.map(({ subject, status, message }) => ({
                  key: subject,
                  title: message ? `${subject}: ${message}` : subject,
                  status,
                }))}
              />
            </Panel>
          )}
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
      facts={[
        ["Status", lifecycle ? <RunStatus key="status" status={lifecycle.status} /> : "unknown"],
        [
          "Verification",
          verification ? <RunStatus key="verification" status={verification.status} /> : "not verified",
        ],
        ...(lifecycle?.result_summary ? [["Result", visible(lifecycle.result_summary)] as const] : []),
        ...(lifecycle?.error ? [["Error", visible(lifecycle.error)] as const] : []),
        ["Updated", <Moment key="updated" at={run.updated_at} />],
        [
          "Session",
          <Link
            key="session"
            to="/sessions/$id"
            params={{ id: run.session_id }}
            className="font-mono text-xs text-accent underline"
          >
            {visible(run.session_id.slice(0, 16))}
          </Link>,
        ],
      ]}
    />
  );
}

function StatusList({
  lines,
}: {
  lines: readonly { readonly key: string; readonly title: string; readonly status: string }[];
}) {
  return (
    <ul className="flex flex-col gap-1 px-3 py-2 text-sm">
      {lines.map(({ key, title, status }) => (
        <li key={key} className="flex items-baseline gap-2">
          <RunStatus status={status} /> <span className="min-w-0 break-words">{visible(title)}</span>
        </li>
      ))}
    </ul>
  );
}

/** The history of a run, newest first, extended as events arrive. */
function RunEvents({ id }: { id: string }) {
  const queries = useQueryClient();
  const source = useMemo(
    (): TailSource<RunEvent, typeof runOperations.streamRuns.query> => ({
      stream: runOperations.streamRuns,
      query: { run: id },
      list: (signal) => fetchRunEvents(id, signal),
    }),
    [id],
  );
  const { all, error, isLoaded } = useTail(source, false);
  const newest = all.at(-1)?.seq;
  useEffect(() => {
    if (newest !== undefined) void queries.invalidateQueries({ queryKey: ["runs", id] });
  }, [queries, id, newest]);
  if (error && all.length === 0)
    return (
      <div className="p-3">
        <Failure error={error} />
      </div>
    );
  if (!isLoaded) return <Waiting what="Loading events" />;
  if (all.length === 0)
    return <Empty title="No events are kept">Events older than the retention period are deleted.</Empty>;
  return (
    <ol aria-label="Events of the run" className="divide-y divide-line">
      {transitions(all)
        .toReversed()
        .map((transition) => (
          <TransitionRow key={transition.seq} transition={transition} />
        ))}
    </ol>
  );
}

const CONTRACTS = { run_lifecycle: "run", task_list: "tasks", verification: "verification" } as const;

function TransitionRow({ transition: { at, contract, status, changes, fault } }: { transition: Transition }) {
  return (
    <li className="flex flex-col gap-1 px-3 py-2 text-sm">
      <span className="flex flex-wrap items-center gap-2">
        <span className="text-2xs text-ink-faint">{CONTRACTS[contract]}</span>
        {status !== undefined && <RunStatus status={status} />}
        {fault !== null && <Badge tone="bad">rejected</Badge>}
        <span className="ml-auto text-2xs text-ink-faint">
          <Moment at={at} />
        </span>
      </span>
      {fault !== null && <p className="text-bad">{visible(fault)}</p>}
      {changes.length === 0 && status === undefined && <p className="text-ink-soft">No task changed.</p>}
      {changes.length > 0 && (
        <ul className="text-ink-soft">
          {changes.map((change) => (
            <li key={change} className="break-words">
              {visible(change)}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
