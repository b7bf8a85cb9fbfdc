import { describe, expect, it } from "vitest";
import { advanceWorker, spawnWorker } from "./worker.ts";
import { bridgeWorkerUpdate, workerUpdate } from "./worker-update.ts";

const worker = advanceWorker(
  spawnWorker({
    id: "w1",
    name: "tester",
    task: "run the tests",
    mode: "sub_agent",
    audit: { parent_session_id: "parent", session_id: "child", run_id: "run-1" },
    at: "2026-01-01T00:00:00Z",
  }),
  "WorkerCompleted",
  "2026-01-01T00:01:00Z",
  { summary: "all pass", run_path: "runs/run-1.json" },
);

describe("a worker's update", () => {
  it("tells ACP clients who, what and how far, with times and provenance in its metadata", () => {
    expect(workerUpdate(worker)).toEqual({
      sessionUpdate: "worker_update",
      workerId: "w1",
      workerName: "tester",
      workerTask: "run the tests",
      workerMode: "sub_agent",
      event: "WorkerCompleted",
      status: "completed",
      terminal: true,
      audit: { parent_session_id: "parent", session_id: "child", run_id: "run-1" },
      metadata: {
        task: "run the tests",
        mode: "sub_agent",
        sequence: 2,
        started_at: "2026-01-01T00:00:00Z",
        finished_at: "2026-01-01T00:01:00Z",
        summary: "all pass",
        run_path: "runs/run-1.json",
        child_run_id: "run-1",
        child_run_path: "runs/run-1.json",
        provenance: {
          worker_id: "w1",
          worker_name: "tester",
          mode: "sub_agent",
          parent_session_id: "parent",
          session_id: "child",
          run_id: "run-1",
        },
      },
    });
  });

  it("tells hosts of the bridge the same under its older names", () => {
    expect(bridgeWorkerUpdate(worker)).toMatchObject({
      sessionUpdate: "worker_update",
      content: {
        worker_id: "w1",
        worker_name: "tester",
        status: "completed",
        started_at: "2026-01-01T00:00:00Z",
        finished_at: "2026-01-01T00:01:00Z",
        snapshot_path: null,
        run_id: "run-1",
        run_path: "runs/run-1.json",
        lifecycle: { event: "WorkerCompleted", worker_id: "w1" },
        audit: { parent_session_id: "parent" },
        metadata: { sequence: 2 },
      },
    });
  });
});
