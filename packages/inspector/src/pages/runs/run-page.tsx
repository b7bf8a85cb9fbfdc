import { type Run, runOperations } from "@reins/api";
import { useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { useGet } from "../../api/queries.ts";
import { Tailed, type TailSource, useTail } from "../../api/tail.tsx";
import { Badge, StatusBadge } from "../../design/badge.tsx";
import { Facts, Page, Panel } from "../../design/layout.tsx";
import { SessionLink } from "../../design/links.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";
import { AgentReports } from "./agent-reports.tsx";
import { fetchRunEvents, type RunEvent, runState, type Transition, transitions } from "./run-events.ts";

/** One run: its state, its tasks and checks, and every event of it, rejected ones included. */
export function RunPage() {
  const { id } = useParams({ from: "/runs/$id" });
  return (
    <Loaded query={useGet(["runs", id], runOperations.getRun, { params: { id } })} what="Loading the run">
      {(run) => <RunView key={id} run={run} />}
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

function StatusList({
  lines,
}: {
  lines: readonly { readonly key: string; readonly title: string; readonly status: string }[];
}) {
  return (
    <ul className="flex flex-col gap-1 px-3 py-2 text-sm">
      {lines.map(({ key, title, status }) => (
        <li key={key} className="flex items-baseline gap-2">
          <StatusBadge status={status} /> <span className="min-w-0 break-words">{visible(title)}</span>
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
  const tail = useTail(source, false);
  const newest = tail.all.at(-1)?.seq;
  useEffect(() => {
    if (newest !== undefined) void queries.invalidateQueries({ queryKey: ["runs", id] });
  }, [queries, id, newest]);
  return (
    <Tailed
      tail={tail}
      what="Loading events"
      empty={<Empty title="No events are kept">Events older than the retention period are deleted.</Empty>}
    >
      {(all) => (
        <ol aria-label="Events of the run" className="divide-y divide-line">
          {transitions(all)
            .toReversed()
            .map((transition) => (
              <TransitionRow key={transition.seq} transition={transition} />
            ))}
        </ol>
      )}
    </Tailed>
  );
}

const CONTRACTS = { run_lifecycle: "run", task_list: "tasks", verification: "verification" } as const;

function TransitionRow({ transition: { at, contract, status, changes, fault } }: { transition: Transition }) {
  return (
    <li className="flex flex-col gap-1 px-3 py-2 text-sm">
      <span className="flex flex-wrap items-center gap-2">
        <span className="text-2xs text-ink-faint">{CONTRACTS[contract]}</span>
        {status !== undefined && <StatusBadge status={status} />}
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
