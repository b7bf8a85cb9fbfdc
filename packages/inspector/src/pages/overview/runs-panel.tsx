import { type Run, runOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { z } from "zod";
import { call } from "../../api/call.ts";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Moment } from "../../design/moment.tsx";
import { Panel } from "../../design/panel.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";

const SHOWN = 12;
const TONES: Readonly<Record<string, Tone>> = {
  completed: "good",
  passed: "good",
  failed: "bad",
  cancelled: "neutral",
  needs_review: "warn",
  executing: "accent",
  verifying: "accent",
  running: "accent",
};
const Lifecycle = z.looseObject({
  status: z.string(),
  prompt: z.string().nullish(),
  result_summary: z.string().nullish(),
});
const Verification = z.looseObject({ status: z.string() });
const Tasks = z.looseObject({ tasks: z.array(z.looseObject({ status: z.string() })) });

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

function RunRow({ run }: { run: Run }) {
  const lifecycle = Lifecycle.safeParse(run.run_lifecycle).data;
  const verification = Verification.safeParse(run.verification).data;
  const tasks = Tasks.safeParse(run.task_list).data?.tasks ?? [];
  const done = tasks.filter(({ status }) => status === "completed").length;
  return (
    <li className="flex flex-col gap-1 px-3 py-2 text-sm">
      <Link
        to="/sessions/$id"
        params={{ id: run.session_id }}
        className="truncate hover:underline"
        title={`Run ${run.run_id}`}
      >
        {visible(lifecycle?.prompt ?? lifecycle?.result_summary ?? `Run ${run.run_id.slice(0, 8)}`)}
      </Link>
      <span className="flex flex-wrap items-center gap-1.5 text-2xs text-ink-faint">
        {lifecycle && <Badge tone={TONES[lifecycle.status] ?? "neutral"}>{lifecycle.status}</Badge>}
        {verification ? (
          <Badge tone={TONES[verification.status] ?? "neutral"}>
            verification {verification.status.replaceAll("_", " ")}
          </Badge>
        ) : (
          "not verified"
        )}
        {tasks.length > 0 && `${done} of ${tasks.length} tasks`}
        <Moment at={run.updated_at} />
      </span>
    </li>
  );
}
