import { BridgeError } from "./bridge-error.ts";

/** What a delegated worker is. */
type WorkerMode = "workflow" | "stage" | "sub_agent" | "delegated_stage";

/** What happens to a worker, by the name it has on the wire. */
export type WorkerEvent =
  | "WorkerSpawned"
  | "WorkerProgressed"
  | "WorkerWaitingForInput"
  | "WorkerCompleted"
  | "WorkerFailed"
  | "WorkerCancelled";

/** Where a worker stands. */
type WorkerStatus = "running" | "progressed" | "awaiting_input" | "completed" | "failed" | "cancelled";

/** Who answers for a worker: the sessions and runs it belongs to. */
interface WorkerAudit {
  /** The session that started it, whose clients see its updates. */
  readonly parent_session_id: string;
  /** The session it works in, once there is one. */
  readonly session_id?: string;
  readonly parent_worker_id?: string;
  readonly run_id?: string;
}

/** How a worker is made known. */
export interface NewWorker {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  readonly mode: WorkerMode;
  readonly audit: WorkerAudit;
  /** When it was started, RFC 3339. */
  readonly at: string;
}

/** A worker and how far it is. Times are RFC 3339. */
export interface Worker extends Omit<NewWorker, "at"> {
  readonly event: WorkerEvent;
  readonly status: WorkerStatus;
  /** Grows with every event, so that a host can tell which update is the later one. */
  readonly sequence: number;
  readonly started_at: string;
  readonly awaiting_started_at?: string;
  readonly finished_at?: string;
  /** Where what it left behind can be looked at. */
  readonly snapshot_path?: string;
  readonly run_path?: string;
  /** What it does, or what came of it, in a line. */
  readonly summary?: string;
  readonly error?: string;
}

/** What an event adds to what is known of a worker. */
export type WorkerDetails = Partial<
  Pick<Worker, "audit" | "snapshot_path" | "run_path" | "summary" | "error">
>;

const STATUS: Readonly<Record<WorkerEvent, WorkerStatus>> = {
  WorkerSpawned: "running",
  WorkerProgressed: "progressed",
  WorkerWaitingForInput: "awaiting_input",
  WorkerCompleted: "completed",
  WorkerFailed: "failed",
  WorkerCancelled: "cancelled",
};

const TERMINAL: ReadonlySet<WorkerStatus> = new Set(["completed", "failed", "cancelled"]);

/** Whether nothing more will happen to a worker. */
export function isTerminal({ status }: Pick<Worker, "status">): boolean {
  return TERMINAL.has(status);
}

/** A worker that was just started. */
export function spawnWorker({ at, ...worker }: NewWorker): Worker {
  return { ...worker, event: "WorkerSpawned", status: "running", sequence: 1, started_at: at };
}

/** The worker after an event. One that has ended stays as it is, and whoever tries otherwise is told. */
export function advanceWorker(
  worker: Worker,
  event: Exclude<WorkerEvent, "WorkerSpawned">,
  at: string,
  details: WorkerDetails = {},
): Worker {
  if (isTerminal(worker))
    throw new BridgeError("worker_ended", `worker ${worker.id} has ended: ${worker.status}`);
  const { awaiting_started_at: _, ...rest } = worker;
  const status = STATUS[event];
  return {
    ...rest,
    ...details,
    event,
    status,
    sequence: worker.sequence + 1,
    ...(status === "awaiting_input" && { awaiting_started_at: at }),
    ...(TERMINAL.has(status) && { finished_at: at }),
  };
}

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
