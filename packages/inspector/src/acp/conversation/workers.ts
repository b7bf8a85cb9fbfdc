import { type JsonObject, membersOf } from "@reins/acp";

/** A worker of a session, reduced from its updates. */
export interface SessionWorker {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  readonly status: string;
  readonly isOver: boolean;
  /** What it does, its result, or why it failed, in a line. */
  readonly summary: string | undefined;
  /** The session it works in, once it exists. */
  readonly session: string | undefined;
  readonly parent: string | undefined;
  readonly startedAt: string | undefined;
  readonly finishedAt: string | undefined;
  readonly sequence: number;
}

/** A worker with those below it. */
export interface WorkerNode {
  readonly worker: SessionWorker;
  readonly children: readonly WorkerNode[];
}

const MOST_WORKERS = 500;

/** The workers after an update, oldest first. One that is older than what is known, or comes after the end, changes nothing. */
export function withWorker(workers: readonly SessionWorker[], update: JsonObject): readonly SessionWorker[] {
  const worker = workerIn(update);
  if (!worker) return workers;
  const index = workers.findIndex(({ id }) => id === worker.id);
  const known = workers[index];
  if (!known) return [...workers, worker].slice(-MOST_WORKERS);
  if (known.isOver || worker.sequence <= known.sequence) return workers;
  return workers.with(index, worker);
}

/** Workers below the workers that started them. */
export function workerTree(workers: readonly SessionWorker[]): readonly WorkerNode[] {
  const known = new Set(workers.map(({ id }) => id));
  const below = Map.groupBy(workers, ({ parent }) =>
    parent !== undefined && known.has(parent) ? parent : undefined,
  );
  const seen = new Set<string>();
  const nodesOf = (parent: string | undefined): WorkerNode[] =>
    (below.get(parent) ?? []).flatMap((worker) => {
      if (seen.has(worker.id)) return [];
      seen.add(worker.id);
      return [{ worker, children: nodesOf(worker.id) }];
    });
  return nodesOf(undefined);
}

function workerIn(update: JsonObject): SessionWorker | undefined {
  const { workerId: id, terminal } = update;
  if (typeof id !== "string") return undefined;
  const metadata = membersOf(update.metadata);
  const audit = membersOf(update.audit);
  return {
    id,
    name: textIn(update.workerName) ?? id,
    task: textIn(update.workerTask) ?? "",
    status: textIn(update.status) ?? "running",
    isOver: terminal === true,
    summary: textIn(metadata.error) ?? textIn(metadata.summary),
    session: textIn(audit.session_id),
    parent: textIn(audit.parent_worker_id),
    startedAt: textIn(metadata.started_at),
    finishedAt: textIn(metadata.finished_at),
    sequence: typeof metadata.sequence === "number" ? metadata.sequence : 0,
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
