import { type Run, runOperations } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { Badge, StatusBadge } from "../../design/badge.tsx";
import { visible, visibleLine } from "../../design/format.ts";
import { Panel } from "../../design/layout.tsx";
import { TextLink } from "../../design/markdown.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { runState } from "./run-events.ts";

const SHOWN = 12;

/** The newest runs with status and verification; each links to its history. */
export function RunsPanel() {
  return (
    <Panel title="Runs" className="min-w-0">
      <Loaded query={useGet(["runs"], runOperations.listRuns, { everyMs: 10_000 })} what="Loading runs">
        {({ runs }) =>
          runs.length === 0 ? (
            <Empty title="No runs yet">
              A run is one task of an agent: from the prompt to its result, with tasks and verification.
            </Empty>
          ) : (
            <ul className="divide-y divide-line">
              {runs.slice(0, SHOWN).map((run) => (
                <RunRow key={run.run_id} run={run} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

function RunRow({ run }: { run: Run }) {
  const { name, lifecycle, tasks, verification } = runState(run);
  const done = tasks.filter(({ status }) => status === "completed").length;
  return (
    <li className="flex flex-col gap-1 px-3 py-2 text-sm">
      <Link
        to="/runs/$id"
        params={{ id: run.run_id }}
        className="truncate hover:underline"
        title={`Run ${run.run_id}`}
      >
        {visible(name)}
      </Link>
      <span className="flex flex-wrap items-center gap-1.5 text-2xs text-ink-faint">
        {lifecycle && <StatusBadge status={lifecycle.status} />}
        {run.has_graph && <Badge tone="note">graph</Badge>}
        {verification ? <StatusBadge status={verification.status} of="verification" /> : "not verified"}
        <Moment at={run.updated_at} />
        {tasks.length > 0 && (
          <span>
            {done} of {tasks.length} tasks done
          </span>
        )}
      </span>
      {lifecycle?.error && <p className="text-2xs text-bad">{visible(lifecycle.error)}</p>}
    </li>
  );
}

const NEWEST = 3;

/** The newest graphs of a session as one line above its conversation; nothing if there are none. */
export function SessionGraphs({ session }: { session: string }) {
  const { data } = useGet(["session-runs", session], runOperations.listRuns, {
    query: { session },
    everyMs: 10_000,
  });
  const graphs = data?.runs.filter(({ has_graph }) => has_graph === true) ?? [];
  if (graphs.length === 0) return null;
  return (
    <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1 border-b border-line bg-surface px-4 py-1.5 text-sm">
      Graphs of actions
      {graphs.slice(0, NEWEST).map((run) => {
        const { name, lifecycle } = runState(run);
        return (
          <span key={run.run_id} className="inline-flex min-w-0 items-baseline gap-1.5">
            <TextLink to="/runs/$id" params={{ id: run.run_id }} className="max-w-64 truncate">
              {visibleLine(name)}
            </TextLink>
            {lifecycle && <StatusBadge status={lifecycle.status} />}
          </span>
        );
      })}
      {graphs.length > NEWEST && (
        <span className="text-2xs text-ink-faint">and {graphs.length - NEWEST} older</span>
      )}
    </p>
  );
}
