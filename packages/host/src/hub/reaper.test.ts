import { ManualClock, settled } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { Reaper } from "./reaper.ts";

/** A reaper with nothing to reap; each run lasts until the test ends it. */
function open() {
  const clock = new ManualClock();
  const runs: PromiseWithResolvers<void>[] = [];
  const prune = () => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  };
  const kept = { prune: async () => 0 };
  const harness = { approvals: kept, reports: kept, runs: kept };
  const idle = {
    harness,
    pool: { running: [] },
    sessions: { unload: () => undefined },
    onError: () => undefined,
  };
  return { clock, runs, reaper: new Reaper({ ...idle, clock, log: { prune } } as never, { retentionMs: 1 }) };
}

test("reaps again after each run, and not after it was stopped during one", async () => {
  const { clock, runs, reaper } = open();
  reaper.start();
  await clock.advanceAndSettle(60_000);
  runs.at(-1)?.resolve();
  await settled();
  await clock.advanceAndSettle(60_000);
  expect(runs).toHaveLength(2);
  reaper.stop();
  runs.at(-1)?.resolve();
  await settled();
  expect(clock.waiting).toBe(0);
});
