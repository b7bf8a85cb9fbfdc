import { type JsonObject, membersOf } from "@reins/acp";
import { BridgeError } from "./bridge-error.ts";

/** The kind of a worker. */
type WorkerMode = "workflow" | "stage" | "sub_agent" | "delegated_stage";

/** An event of a worker, by its name on the wire. */
export type WorkerEvent =
  | "WorkerSpawned"
  | "WorkerProgressed"
  | "WorkerWaitingForInput"
  | "WorkerCompleted"
  | "WorkerFailed"
  | "WorkerCancelled";

type WorkerStatus = "running" | "progressed" | "awaiting_input" | "completed" | "failed" | "cancelled";

/** The sessions and runs that a worker belongs to. */
interface WorkerAudit {
  /** The session that started it, whose clients receive its updates. */
  readonly parent_session_id: string;
  /** The session it works in, once it exists. */
  readonly session_id?: string;
  readonly parent_worker_id?: string;
  readonly run_id?: string;
}

/** A worker to start. */
export interface NewWorker {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  readonly mode: WorkerMode;
  readonly audit: WorkerAudit;
  /** RFC 3339. */
  readonly at: string;
}

/** A worker with its progress. Times are RFC 3339. */
export interface Worker extends Omit<NewWorker, "at"> {
  readonly event: WorkerEvent;
  readonly status: WorkerStatus;
  /** Increases with every event, so that a host can order updates. */
  readonly sequence: number;
  readonly started_at: string;
  readonly awaiting_started_at?: string;
  readonly finished_at?: string;
  /** The path of its results. */
  readonly snapshot_path?: string;
  readonly run_path?: string;
  /** Its activity or result, in a line. */
  readonly summary?: string;
  readonly error?: string;
}

/** Details that an event adds. */
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

/** Whether the worker has ended. */
export function isTerminal({ status }: Pick<Worker, "status">): boolean {
  return TERMINAL.has(status);
}

export function spawnWorker({ at, ...worker }: NewWorker): Worker {
  return { ...worker, event: "WorkerSpawned", status: "running", sequence: 1, started_at: at };
}

/** Applies an event. Throws when the worker has ended. */
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

/** A `session/update`: the content as hosts of the bridge read it, and the same in flat members for ACP clients. */
export interface WorkerUpdate {
  readonly sessionUpdate: "worker_update";
  readonly content: Readonly<Record<string, unknown>>;
  readonly workerId: string;
  readonly workerName: string;
  readonly workerTask: string;
  readonly workerMode: Worker["mode"];
  readonly event: Worker["event"];
  readonly status: Worker["status"];
  /** Whether it is the last update. */
  readonly terminal: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly audit: Worker["audit"];
}

/** The update of a worker: one message for each event. */
export function workerUpdate(worker: Worker): WorkerUpdate {
  return {
    sessionUpdate: "worker_update",
    content: contentOf(worker),
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

function contentOf(worker: Worker): Readonly<Record<string, unknown>> {
  const { id, name, event, status, audit, started_at, finished_at = null } = worker;
  return {
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
  };
}

/**
 * The last update of a worker that was running when its process ended: it has failed, interrupted. Made from the last update
 * that was logged, whatever that holds; nothing where the worker had ended, or the update names none.
 */
export function interruptedUpdate(last: JsonObject, at: string): JsonObject | undefined {
  const { workerId, terminal } = last;
  if (typeof workerId !== "string" || terminal === true) return undefined;
  const ended = { event: "WorkerFailed", status: "failed" };
  const { sequence } = membersOf(last.metadata);
  const metadata = {
    ...membersOf(last.metadata),
    sequence: typeof sequence === "number" ? sequence + 1 : 1,
    finished_at: at,
    reason: "interrupted",
    error: "interrupted",
  };
  const content = membersOf(last.content);
  const lifecycle = { ...membersOf(content.lifecycle), event: ended.event, finished_at: at };
  return {
    ...last,
    ...ended,
    terminal: true,
    metadata,
    content: { ...content, status: ended.status, finished_at: at, lifecycle, metadata },
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
