import { isTerminal, type Worker } from "./worker.ts";

/** A `session/update` about a worker, as ACP clients get it. */
export interface WorkerUpdate {
  readonly sessionUpdate: "worker_update";
  readonly workerId: string;
  readonly workerName: string;
  readonly workerTask: string;
  readonly workerMode: Worker["mode"];
  readonly event: Worker["event"];
  readonly status: Worker["status"];
  /** Whether it is the last one. */
  readonly terminal: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly audit: Worker["audit"];
}

/** The same update as hosts of the bridge know it, one level down and in snake case. */
export interface BridgeWorkerUpdate {
  readonly sessionUpdate: "worker_update";
  readonly content: Readonly<Record<string, unknown>>;
}

/** How a worker's last event is told to an ACP client. */
export function workerUpdate(worker: Worker): WorkerUpdate {
  return {
    sessionUpdate: "worker_update",
    workerId: worker.id,
    workerName: worker.name,
    workerTask: worker.task,
    workerMode: worker.mode,
    event: worker.event,
    status: worker.status,
    terminal: isTerminal(worker),
    metadata: metadataOf(worker),
    audit: worker.audit,
  };
}

/** How a worker's last event is told to a host of the bridge. */
export function bridgeWorkerUpdate(worker: Worker): BridgeWorkerUpdate {
  const { id, name, event, status, audit, started_at, finished_at = null } = worker;
  return {
    sessionUpdate: "worker_update",
    content: {
      worker_id: id,
      worker_name: name,
      status,
      started_at,
      finished_at,
      snapshot_path: worker.snapshot_path ?? null,
      run_id: audit.run_id ?? null,
      run_path: worker.run_path ?? null,
      lifecycle: { event, worker_id: id, worker_name: name, started_at, finished_at },
      audit,
      metadata: metadataOf(worker),
    },
  };
}

function metadataOf(worker: Worker): Readonly<Record<string, unknown>> {
  const { id, name, task, mode, audit, ...rest } = worker;
  const { event: _event, status: _status, ...known } = rest;
  return {
    ...known,
    task,
    mode,
    provenance: { worker_id: id, worker_name: name, mode, ...audit },
    ...(audit.parent_worker_id !== undefined && { parent_worker_id: audit.parent_worker_id }),
    ...(audit.run_id !== undefined && { child_run_id: audit.run_id }),
    ...(worker.run_path !== undefined && { child_run_path: worker.run_path }),
  };
}
