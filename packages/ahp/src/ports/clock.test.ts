import { systemClock } from "@reins/kit";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("the machine's clock", () => {
  test("runs once after a while", () => {
    const run = vi.fn();
    systemClock.after(100, run);
    vi.advanceTimersByTime(99);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1000);
    expect(run).toHaveBeenCalledOnce();
  });

  test("can be called off", () => {
    const run = vi.fn();
    systemClock.after(100, run)();
    vi.advanceTimersByTime(1000);
    expect(run).not.toHaveBeenCalled();
  });

  test("tells the time", () => {
    vi.setSystemTime(5000);
    expect(systemClock.now().getTime()).toBe(5000);
  });
});

test("a wait longer than timers can is as long as they can, not none at all", () => {
  const timer = vi.spyOn(globalThis, "setTimeout");
  systemClock.after(2 ** 40, () => {})();
  systemClock.after(2 ** 31 - 2, () => {})();
  expect(timer.mock.calls.map(([, milliseconds]) => milliseconds)).toEqual([2 ** 31 - 1, 2 ** 31 - 2]);
});
