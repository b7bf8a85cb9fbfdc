import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Observable, onNextFrame } from "./observable.ts";

describe("an observable", () => {
  test("notifies subscribers of a change, with the new value in place", () => {
    const value = new Observable(1);
    const seen: number[] = [];
    value.subscribe(() => seen.push(value.current()));
    value.set(2);
    value.set(3);
    expect(seen).toEqual([2, 3]);
  });

  test("does not notify if the value is the same object", () => {
    const state = { a: 1 };
    const value = new Observable(state);
    const subscriber = vi.fn();
    value.subscribe(subscriber);
    value.set(state);
    expect(subscriber).not.toHaveBeenCalled();
    value.set({ ...state });
    expect(subscriber).toHaveBeenCalledOnce();
  });

  test("stops notifying after unsubscribe, and only that subscriber", () => {
    const value = new Observable(1);
    const [gone, kept] = [vi.fn(), vi.fn()];
    const unsubscribe = value.subscribe(gone);
    value.subscribe(kept);
    unsubscribe();
    value.set(2);
    expect(gone).not.toHaveBeenCalled();
    expect(kept).toHaveBeenCalledOnce();
  });
});

describe("the next frame", () => {
  let frames: (() => void)[];
  beforeEach(() => {
    vi.useFakeTimers();
    frames = [];
    vi.stubGlobal("requestAnimationFrame", (run: () => void) => frames.push(run));
    vi.stubGlobal("cancelAnimationFrame", (frame: number) => delete frames[frame - 1]);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test("runs a callback once, with the frame", () => {
    const run = vi.fn();
    onNextFrame(run);
    expect(run).not.toHaveBeenCalled();
    frames[0]?.();
    vi.advanceTimersByTime(1_000);
    expect(run).toHaveBeenCalledOnce();
  });

  test("runs a callback of a hidden page, which draws no frames, after a short delay and once", () => {
    const run = vi.fn();
    onNextFrame(run);
    vi.advanceTimersByTime(199);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(run).toHaveBeenCalledOnce();
    expect(frames.filter(Boolean)).toEqual([]);
  });
});
