import { type JsonObject, membersOf } from "@reins/acp";
import { spawnWorker, workerUpdate } from "@reins/bridge";
import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import type { Session } from "../sessions/session.ts";
import { endCalls } from "./interruption.ts";

/** A session whose turn was cut off after some updates, and what is logged for it then. */
function cutOff(updates: readonly object[]) {
  const logged: JsonObject[] = [];
  const pages = [
    updates.map((update, index) => ({
      order: index + 1,
      message: { method: "session/update", params: { sessionId: "s", update } },
    })),
  ];
  const log = { written: async () => undefined, page: async () => pages.shift() ?? [] };
  const session = {
    record: { id: "s", tenant: "default" },
    hub: { log, clock: new ManualClock("2026-01-01T00:00:00.000Z") },
    update: async (update: JsonObject) => void logged.push(update),
  } as unknown as Session;
  return { session, logged };
}

const audit = { parent_session_id: "s", session_id: "child" };
const started = (id: string) =>
  workerUpdate(spawnWorker({ id, name: "n", task: "t", mode: "sub_agent", audit, at: "t0" }));

test("workers that ran when the process ended have failed, interrupted; those that had ended stay as they are", async () => {
  const done = { ...started("done"), status: "completed", terminal: true };
  const call = { sessionUpdate: "tool_call", toolCallId: "c", status: "in_progress" };
  const { session, logged } = cutOff([started("running"), started("done"), call, done]);
  await endCalls(session, 0);
  expect(logged.map(({ sessionUpdate }) => sessionUpdate)).toEqual(["worker_update", "tool_call_update"]);
  expect(logged[0]).toMatchObject({ workerId: "running", status: "failed", terminal: true, audit });
  expect(membersOf(logged[0]?.metadata)).toMatchObject({
    reason: "interrupted",
    finished_at: "2026-01-01T00:00:00.000Z",
  });
});
