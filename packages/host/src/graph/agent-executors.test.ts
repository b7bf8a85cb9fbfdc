import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WorkingTime } from "./agent-executors.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

test("the time of an agent does not count while it waits for a person", () => {
  const time = new WorkingTime(1_000);
  vi.advanceTimersByTime(600);
  time.count(false);
  vi.advanceTimersByTime(1_000_000);
  expect(time.signal.aborted).toBe(false);
  time.count(true);
  time.count(true);
  vi.advanceTimersByTime(399);
  expect(time.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(time.signal.reason).toMatchObject({ name: "TimeoutError" });
});
