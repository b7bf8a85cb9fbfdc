import { type SessionWorker, type WorkerNode, workerTree } from "../../acp/conversation/workers.ts";
import { Badge } from "../../design/badge.tsx";
import { words } from "../../design/format.ts";
import { SessionLink } from "../../design/links.tsx";
import { visible } from "../../design/visible.ts";

const TONES: Readonly<Record<string, "good" | "bad" | "warn" | "neutral">> = {
  completed: "good",
  failed: "bad",
  cancelled: "neutral",
  awaiting_input: "warn",
};

/** The workers of a session as a tree, live. */
export function WorkersPanel({ workers }: { workers: readonly SessionWorker[] }) {
  if (workers.length === 0) return null;
  const running = workers.filter(({ isOver }) => !isOver).length;
  return (
    <details className="border-b border-line bg-surface px-4 py-1.5 text-sm" open={running > 0}>
      <summary className="flex cursor-pointer items-center gap-3">
        <span className="font-medium">Workers</span>
        <span className="text-ink-soft tabular-nums">
          {running > 0 ? `${running} of ${workers.length} running` : `${workers.length} ended`}
        </span>
      </summary>
      <WorkerList nodes={workerTree(workers)} label="Workers" />
    </details>
  );
}

function WorkerList({ nodes, label }: { nodes: readonly WorkerNode[]; label: string }) {
  return (
    <ul aria-label={label} className="flex flex-col gap-1 pt-1.5">
      {nodes.map(({ worker, children }) => (
        <li key={worker.id}>
          <WorkerLine worker={worker} />
          {children.length > 0 && (
            <div className="ml-4 border-l border-line pl-3">
              <WorkerList nodes={children} label={`Workers of ${visible(worker.name)}`} />
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

function WorkerLine({ worker }: { worker: SessionWorker }) {
  const { name, task, status, summary, session } = worker;
  return (
    <div className="flex flex-wrap items-baseline gap-x-2">
      <Badge tone={TONES[status] ?? "neutral"}>{words(status)}</Badge>
      <span className="font-medium">{visible(name)}</span>
      <span className="min-w-0 max-w-xl truncate text-ink-soft" title={visible(task)}>
        {visible(task)}
      </span>
      {session !== undefined && <SessionLink id={session} />}
      {summary !== undefined && (
        <span className="w-full truncate pl-1 text-ink-faint">{visible(summary)}</span>
      )}
    </div>
  );
}
