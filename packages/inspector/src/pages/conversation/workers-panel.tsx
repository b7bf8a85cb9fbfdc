import { type SessionWorker, type WorkerNode, workerTree } from "../../acp/conversation/workers.ts";
import { Badge, type Tone } from "../../design/badge.tsx";
import { duration, words } from "../../design/format.ts";
import { SessionLink } from "../../design/links.tsx";
import { visible } from "../../design/visible.ts";

const TONES: Readonly<Record<string, Tone>> = {
  running: "accent",
  completed: "good",
  failed: "bad",
  awaiting_input: "warn",
};

/** The workers of a session as a tree, live. */
export function WorkersPanel({ workers }: { workers: readonly SessionWorker[] }) {
  if (workers.length === 0) return null;
  const running = workers.filter(({ isOver }) => !isOver).length;
  const failed = workers.filter(({ status }) => status === "failed").length;
  return (
    <details className="border-b border-line bg-surface px-4 py-1.5 text-sm" open={running > 0}>
      <summary className="flex cursor-pointer items-center gap-3">
        <span className="font-medium">Workers</span>
        <span className="text-ink-soft tabular-nums">
          {running > 0 ? `${running} of ${workers.length} running` : `${workers.length} ended`}
          {failed > 0 && `, ${failed} failed`}
        </span>
      </summary>
      <div className="max-h-[40vh] overflow-y-auto">
        <WorkerList nodes={workerTree(workers)} label="Workers" />
      </div>
    </details>
  );
}

function WorkerList({ nodes, label }: { nodes: readonly WorkerNode[]; label: string }) {
  return (
    <ul aria-label={label} className="flex flex-col gap-1.5 pt-1.5">
      {nodes.map(({ worker, children }) => (
        <li key={worker.id}>
          <WorkerLine worker={worker} />
          {children.length > 0 && (
            <div className="ml-2 border-l border-line pl-3">
              <WorkerList nodes={children} label={`Workers of ${visible(worker.name)}`} />
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

function WorkerLine({ worker }: { worker: SessionWorker }) {
  const { name, task, summary, session, startedAt, finishedAt } = worker;
  // Progress is a step of a worker that runs, not a state that a person waits for.
  const status = worker.status === "progressed" ? "running" : worker.status;
  const took = Date.parse(finishedAt ?? "") - Date.parse(startedAt ?? "");
  return (
    <div className="flex min-w-0 flex-wrap items-baseline gap-x-2">
      <Badge tone={TONES[status] ?? "neutral"}>{words(status)}</Badge>
      <span className="font-medium">{visible(name)}</span>
      <span className="min-w-0 max-w-xl truncate text-ink-soft" title={visible(task)}>
        {visible(task)}
      </span>
      {session !== undefined && <SessionLink id={session} />}
      {took >= 0 && <span className="text-2xs text-ink-faint tabular-nums">{duration(took)}</span>}
      {summary !== undefined && (
        <span className="line-clamp-3 w-full text-ink-faint wrap-anywhere" title={visible(summary)}>
          {visible(summary)}
        </span>
      )}
    </div>
  );
}
