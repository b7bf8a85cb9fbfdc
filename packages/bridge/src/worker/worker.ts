import { BridgeError } from "../bridge-error.ts";

/** What a delegated worker is. */
export type WorkerMode = "workflow" | "stage" | "sub_agent" | "delegated_stage";

/** What happens to a worker, by the name it has on the wire. */
export type WorkerEvent =
  | "WorkerSpawned"
  | "WorkerProgressed"
  | "WorkerWaitingForInput"
  | "WorkerCompleted"
  | "WorkerFailed"
  | "WorkerCancelled";

/** Where a worker stands. */
export type WorkerStatus = "running" | "progressed" | "awaiting_input" | "completed" | "failed" | "cancelled";

/** Who answers for a worker: the sessions and runs it belongs to. */
export interface WorkerAudit {
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
