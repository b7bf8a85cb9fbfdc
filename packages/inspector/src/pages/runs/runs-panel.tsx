import { type Run, runOperations } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { StatusBadge } from "../../design/badge.tsx";
import { Panel } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";
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
