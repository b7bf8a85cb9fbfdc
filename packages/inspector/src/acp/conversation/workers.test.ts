import { expect, test } from "vitest";
import { EMPTY_CONVERSATION, type SessionWorker, withUpdates, workerTree } from "./conversation.ts";

const update = (workerId: string, sequence: number, more: object = {}) => ({
  ...{
    sessionUpdate: "worker_update",
    workerId,
    workerName: "claude",
    workerTask: "look",
    status: "running",
  },
  ...{ terminal: false, metadata: { sequence }, audit: {}, ...more },
});

const after = (...updates: object[]) =>
  withUpdates(
    EMPTY_CONVERSATION,
    updates.map((one) => ({ update: { ...one }, at: undefined })),
  ).workers;

test("a worker is shown with its last state, whatever order or number updates come in", () => {
  const ended = update("w", 3, {
    status: "completed",
    terminal: true,
    metadata: { sequence: 3, summary: "done", started_at: "t0", finished_at: "t1" },
    audit: { session_id: "child" },
  });
  const [worker, ...others] = after(update("w", 1), ended, update("w", 2), ended, update("w", 4));
  expect(others).toEqual([]);
  expect(worker).toMatchObject({ status: "completed", isOver: true, summary: "done", session: "child" });
});

test("updates that name no worker, or are of other shapes, change nothing", () => {
  expect(after({ sessionUpdate: "worker_update" }, { sessionUpdate: "worker_update", workerId: 3 })).toEqual(
    [],
  );
  expect(after({ sessionUpdate: "worker_update", workerId: "w", metadata: null, audit: 7 })).toMatchObject([
    { id: "w", name: "w", status: "running" },
  ]);
});

test("workers stand below the one that started them, also where parents form a circle", () => {
  const [one, two, three] = after(
    update("one", 1),
    update("two", 1, { audit: { parent_worker_id: "one" } }),
    update("three", 1, { audit: { parent_worker_id: "unknown" } }),
  );
  expect(workerTree([one, two, three] as SessionWorker[])).toEqual([
    { worker: one, children: [{ worker: two, children: [] }] },
    { worker: three, children: [] },
  ]);
  const circle = after(update("a", 1, { audit: { parent_worker_id: "a" } }));
  expect(workerTree(circle)).toEqual([]);
});
