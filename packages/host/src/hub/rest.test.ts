import { ManualClock, settled } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { Rest } from "./rest.ts";

/** A rest that looks after nothing; each look lasts until it is told. */
function open() {
  const clock = new ManualClock();
  const looks: PromiseWithResolvers<void>[] = [];
  const prune = () => {
    const look = Promise.withResolvers<void>();
    looks.push(look);
    return look.promise;
  };
  const kept = { prune: async () => 0 };
  const harness = { approvals: kept, reports: kept, runs: kept };
  const idle = { harness, pool: { running: [] }, sessions: { all: [] }, onError: () => undefined };
  return { clock, looks, rest: new Rest({ ...idle, clock, log: { prune } } as never, { retentionMs: 1 }) };
}

test("looks again after each look, and no more once it has ended, also if that is during one", async () => {
  const { clock, looks, rest } = open();
  rest.begin();
  await clock.advanceAndSettle(60_000);
  looks.at(-1)?.resolve();
  await settled();
  await clock.advanceAndSettle(60_000);
  expect(looks).toHaveLength(2);
  rest.end();
  looks.at(-1)?.resolve();
  await settled();
  expect(clock.waiting).toBe(0);
});
