import { describe, expect, it } from "vitest";
import {
  advanceWorker,
  interruptedUpdate,
  isTerminal,
  type NewWorker,
  spawnWorker,
  workerUpdate,
} from "./worker.ts";

const news: NewWorker = {
  id: "w1",
  name: "tester",
  task: "run the tests",
  mode: "sub_agent",
  audit: { parent_session_id: "parent" },
  at: "2026-01-01T00:00:00Z",
};

describe("a worker", () => {
  it("is running once spawned", () => {
    expect(spawnWorker(news)).toMatchObject({
      event: "WorkerSpawned",
      status: "running",
      sequence: 1,
      started_at: "2026-01-01T00:00:00Z",
    });
  });

  it.each([
    ["WorkerProgressed", "progressed", false],
    ["WorkerWaitingForInput", "awaiting_input", false],
    ["WorkerCompleted", "completed", true],
    ["WorkerFailed", "failed", true],
    ["WorkerCancelled", "cancelled", true],
  ] as const)("after %s is %s", (event, status, terminal) => {
    const worker = advanceWorker(spawnWorker(news), event, "2026-01-01T00:00:09Z");
    expect(worker).toMatchObject({ event, status, sequence: 2 });
    expect(isTerminal(worker)).toBe(terminal);
    expect(worker.finished_at).toBe(terminal ? "2026-01-01T00:00:09Z" : undefined);
  });

  it("awaits input only until the next event", () => {
    const waiting = advanceWorker(spawnWorker(news), "WorkerWaitingForInput", "t1");
    expect(waiting.awaiting_started_at).toBe("t1");
    expect(advanceWorker(waiting, "WorkerProgressed", "t2")).not.toHaveProperty("awaiting_started_at");
  });

  it("keeps the details of earlier events", () => {
    const found = advanceWorker(spawnWorker(news), "WorkerProgressed", "t1", {
      audit: { ...news.audit, session_id: "child" },
      summary: "half done",
    });
    const failed = advanceWorker(found, "WorkerFailed", "t2", { error: "no luck" });
    expect(failed).toMatchObject({ audit: { session_id: "child" }, summary: "half done", error: "no luck" });
  });

  it("rejects events after its end", () => {
    const ended = advanceWorker(spawnWorker(news), "WorkerCancelled", "t1");
    expect(() => advanceWorker(ended, "WorkerProgressed", "t2")).toThrow(
      expect.objectContaining({ code: "worker_ended" }),
    );
  });
});

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
  it("has ACP's members, with times and provenance in its metadata", () => {
    expect(workerUpdate(worker)).toMatchObject({
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

  it("has the content that hosts of the bridge read, beside the flat members", () => {
    expect(workerUpdate(worker).content).toMatchObject({
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
    });
  });

  it("ends as interrupted what was running when its process ended, and nothing else", () => {
    const audit = { parent_session_id: "parent" };
    const running = spawnWorker({ id: "w2", name: "n", task: "t", mode: "sub_agent", audit, at: "t0" });
    const last = { ...workerUpdate(running) };
    expect(interruptedUpdate(last, "t1")).toMatchObject({
      ...{ workerId: "w2", event: "WorkerFailed", status: "failed", terminal: true, audit },
      metadata: { sequence: 2, finished_at: "t1", reason: "interrupted", started_at: "t0" },
      content: { worker_id: "w2", status: "failed", finished_at: "t1", lifecycle: { event: "WorkerFailed" } },
    });
    expect(interruptedUpdate({ ...workerUpdate(worker) }, "t1")).toBe(undefined);
    expect(interruptedUpdate({ metadata: 3, content: null }, "t1")).toBe(undefined);
  });
});
