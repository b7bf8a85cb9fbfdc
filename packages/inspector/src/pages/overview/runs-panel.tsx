import { type Run, runOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { z } from "zod";
import { call } from "../../api/call.ts";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Panel } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";

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

const TONES: Readonly<Record<string, Tone>> = {
  completed: "good",
  passed: "good",
  failed: "bad",
  needs_review: "warn",
  executing: "accent",
  verifying: "accent",
  running: "accent",
  in_progress: "accent",
};
const text = z.string().nullish();
const Lifecycle = z.looseObject({ status: z.string(), prompt: text, result_summary: text, error: text });
const Tasks = z.looseObject({ tasks: z.array(z.looseObject({ title: z.string(), status: z.string() })) });
const Verification = z.looseObject({
  status: z.string(),
  checks: z.array(z.looseObject({ subject: z.string(), status: z.string(), message: text })).catch([]),
});

/** One run: what it was for, where it stands, and what was verified of it. */
function RunRow({ run }: { run: Run }) {
  const lifecycle = Lifecycle.safeParse(run.run_lifecycle).data;
  const verification = Verification.safeParse(run.verification).data;
  const tasks = Tasks.safeParse(run.task_list).data?.tasks ?? [];
  const checks = verification?.checks ?? [];
  const name = lifecycle?.prompt || lifecycle?.result_summary || `Run ${run.run_id.slice(0, 8)}`;
  const done = tasks.filter(({ status }) => status === "completed").length;
  return (
    <li className="flex flex-col gap-1 px-3 py-2 text-sm">
      <Link
        to="/sessions/$id"
        params={{ id: run.session_id }}
        className="truncate hover:underline"
        title={`Run ${run.run_id}`}
      >
        {visible(name)}
      </Link>
      <span className="flex flex-wrap items-center gap-1.5 text-2xs text-ink-faint">
        {lifecycle && <Status status={lifecycle.status} />}
        {verification ? <Status status={verification.status} of="verification" /> : "not verified"}
        <Moment at={run.updated_at} />
      </span>
      {lifecycle?.error && <p className="text-2xs text-bad">{visible(lifecycle.error)}</p>}
      {tasks.length + checks.length > 0 && (
        <details className="text-2xs">
          <summary className="cursor-pointer text-ink-soft">
            {done} of {tasks.length} tasks done, {checks.length} checks
          </summary>
          <ul className="flex flex-col gap-1 pt-1">
            {tasks.map(({ title, status }) => (
              <li key={`task ${title}`}>
                <Status status={status} /> {visible(title)}
              </li>
            ))}
            {checks.map(({ subject, status, message }) => (
              <li key={`check ${subject}`}>
                <Status status={status} of="check" /> {visible(subject)}
                {message && <span className="text-ink-faint">: {visible(message)}</span>}
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

function Status({ status, of }: { status: string; of?: string }) {
  return (
    <Badge tone={TONES[status] ?? "neutral"}>
      {[of, status.replaceAll("_", " ")].filter(Boolean).join(" ")}
    </Badge>
  );
}
