import { readFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";

/** The longest time, in milliseconds, for which the event loop of this thread did not turn. */
export interface LongestBlock {
  /** Without the collection of garbage. */
  readonly worked: number;
  /** With it. */
  readonly passed: number;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Shorter ones are not looked at. */
const NOTICED = 0.2;

/** Watches the event loop while something runs. Turns in which other processes had the processor are left out. */
export async function watchEventLoop(run: () => Promise<void>): Promise<LongestBlock> {
  const turns: Span[] = [];
  const collections: Span[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      collections.push({ start: startTime, end: startTime + duration });
  });
  observer.observe({ entryTypes: ["gc"] });
  let done = false;
  const watch = async () => {
    let interruptions = countInterruptions();
    for (let start = performance.now(); !done; start = performance.now()) {
      await new Promise<void>((resolve) => void setImmediate(resolve));
      const end = performance.now();
      if (end - start < NOTICED) continue;
      const before = interruptions;
      interruptions = countInterruptions();
      if (interruptions === before) turns.push({ start, end });
    }
  };
  const watching = watch();
  await run();
  done = true;
  await watching;
  // The observer reports with a delay.
  await new Promise((resolve) => setTimeout(resolve, 5));
  observer.disconnect();
  const passed = turns.map(({ start, end }) => end - start);
  const worked = turns.map((turn) => turn.end - turn.start - overlap(turn, collections));
  return { worked: Math.max(NOTICED, ...worked), passed: Math.max(NOTICED, ...passed) };
}

function overlap(turn: Span, others: readonly Span[]): number {
  const shared = others.map(({ start, end }) => Math.min(end, turn.end) - Math.max(start, turn.start));
  return shared.filter((time) => time > 0).reduce((sum, time) => sum + time, 0);
}

/** How often this thread had to give the processor to another, where the system reports it. */
function countInterruptions(): number {
  if (process.platform !== "linux") return 0;
  const status = readFileSync("/proc/thread-self/status", "utf8");
  return Number(/^nonvoluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1]);
}
