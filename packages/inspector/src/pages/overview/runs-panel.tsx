import { runOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { Panel } from "../../design/panel.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { RunRow } from "./run-row.tsx";

const SHOWN = 12;

/** The newest runs, and whether what they did was verified. */
export function RunsPanel() {
  const { data, error } = useQuery({
    queryKey: ["runs"],
    queryFn: ({ signal }) => call(runOperations.listRuns, { signal }),
    refetchInterval: 10_000,
  });
  return (
    <Panel title="Runs" className="min-w-0">
      {error ? (
        <div className="p-3">
          <Failure error={error} />
        </div>
      ) : !data ? (
        <Waiting what="Asking about runs" />
      ) : data.runs.length === 0 ? (
        <Empty title="No runs yet">A run is one task of the native agent: planned, done, and verified.</Empty>
      ) : (
        <ul className="divide-y divide-line">
          {data.runs.slice(0, SHOWN).map((run) => (
            <RunRow key={run.run_id} run={run} />
          ))}
        </ul>
      )}
    </Panel>
  );
}
