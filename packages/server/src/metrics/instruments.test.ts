import { expect, test } from "vitest";
import { Counter, History, type Step, Timings } from "./instruments.ts";
import { exposition, secondsOf } from "./prometheus.ts";

test("percentiles cover only the newest durations within a window", () => {
  let now = 0;
  const timings = new Timings([1, 10, 100], () => now);
  for (let ms = 1; ms <= 100; ms += 1) timings.note(ms);
  expect(timings.percentiles(1_000)).toEqual({ count: 100, p50: 51, p90: 91, p99: 100, max: 100 });
  now = 5_000;
  timings.note(7);
  expect(timings.percentiles(1_000)).toEqual({ count: 1, p50: 7, p90: 7, p99: 7, max: 7 });
  expect([timings.count, timings.cumulative]).toEqual([101, [1, 11, 101]]);
  expect(new Timings([1], () => 0).percentiles(1)).toEqual({ count: 0, p50: 0, p90: 0, p99: 0, max: 0 });
});

test("durations beyond the ring use no more memory and are still counted", () => {
  const timings = new Timings([1], () => 0);
  for (let n = 0; n < 10_000; n += 1) timings.note(2);
  expect(timings.count).toBe(10_000);
  expect(timings.percentiles(1).count).toBe(2_048);
});

test("metrics are formatted as Prometheus text", () => {
  const counter = new Counter();
  counter.add({ verdict: "allowed" });
  counter.add({ verdict: "allowed" }, 2);
  counter.add({ verdict: 'odd "one"\n' });
  expect(counter.by("verdict")).toMatchObject({ allowed: 3 });
  const timings = new Timings([5], () => 0);
  timings.note(4);
  timings.note(1_996);
  const text = exposition([
    { name: "decisions_total", kind: "counter", help: "how many", samples: counter.series },
    secondsOf("took_seconds", "how long", timings),
  ]);
  expect(text).toBe(
    [
      "# HELP decisions_total how many",
      "# TYPE decisions_total counter",
      'decisions_total{verdict="allowed"} 3',
      'decisions_total{verdict="odd \\"one\\"\\n"} 1',
      "# HELP took_seconds how long",
      "# TYPE took_seconds histogram",
      'took_seconds_bucket{le="0.005"} 1',
      'took_seconds_bucket{le="+Inf"} 2',
      "took_seconds_sum 2",
      "took_seconds_count 2",
      "",
    ].join("\n"),
  );
});

function step(decisions: number): Step {
  return {
    ...{ decisions, blocked: 0, asked: 0, ledger_entries: 0, log_events: 0, requests: 0 },
    ...{ latency_p50_ms: null, latency_p99_ms: 1, event_loop_p99_ms: 2, rss_bytes: 3, pending_approvals: 4 },
  };
}

test("counters are shown as growth per step and as a rate", () => {
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

test("the history has at most an hour", () => {
  const history = new History(5_000);
  for (let n = 0; n < 1_000; n += 1) history.add(n, step(n));
  expect(history.read()).toMatchObject({ at: expect.objectContaining({ length: 720, 0: 280 }) });
});
