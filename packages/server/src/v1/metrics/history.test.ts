import { expect, test } from "vitest";
import { History, type Step } from "./history.ts";

function step(decisions: number): Step {
  return {
    ...{ decisions, blocked: 0, asked: 0, ledger_entries: 0, log_events: 0, requests: 0 },
    ...{ latency_p50_ms: null, latency_p99_ms: 1, event_loop_p99_ms: 2, rss_bytes: 3, pending_approvals: 4 },
  };
}

test("what is counted is shown by how much it grew, and as a rate", () => {
  const history = new History(5_000);
  for (const [index, count] of [10, 30, 35, 5].entries()) history.add(index, step(count));
  expect(history.read()).toMatchObject({
    step_ms: 5_000,
    at: [0, 1, 2, 3],
    decisions: [null, 20, 5, 5],
    latency_p50_ms: [null, null, null, null],
    rss_bytes: [3, 3, 3, 3],
  });
  expect(history.perSecond("decisions")).toBe(2);
  expect(new History(1).perSecond("decisions")).toBe(0);
});

test("an hour is kept, and no more", () => {
  const history = new History(5_000);
  for (let n = 0; n < 1_000; n += 1) history.add(n, step(n));
  expect(history.read()).toMatchObject({ at: expect.objectContaining({ length: 720, 0: 280 }) });
});
