import type { Clock } from "@reins/kit";
import { expect, test } from "vitest";
import { Inactivity, Restarts } from "./watchdog.ts";

class HandClock implements Clock {
  timers = new Set<{ readonly at: number; readonly run: () => void }>();
  #now = 0;
  now = () => new Date(this.#now);

  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.#now + milliseconds, run };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  pass(milliseconds: number): void {
    for (let left = milliseconds; left > 0; left -= 1) {
      this.#now += 1;
      for (const timer of this.timers) if (timer.at <= this.#now && this.timers.delete(timer)) timer.run();
    }
  }
}

function waiting() {
  const clock = new HandClock();
  const silences: number[] = [];
  const onTimeout = () => void silences.push(clock.now().getTime());
  return { clock, silences, inactivity: new Inactivity({ clock, milliseconds: 100, onTimeout }) };
}

test("calls onTimeout once after inactivity", () => {
  const { clock, silences } = waiting();
  clock.pass(1_000);
  expect(silences).toEqual([100]);
});

test("postpones the timeout with every activity", () => {
  const { clock, silences, inactivity } = waiting();
  for (let count = 0; count < 50; count += 1) {
    clock.pass(90);
    inactivity.touch();
  }
  expect(silences).toEqual([]);
  clock.pass(99);
  expect(silences).toEqual([]);
  clock.pass(1);
  expect(silences).toEqual([4_600]);
});

test("holds no timer once it has ended", () => {
  const { clock, silences, inactivity } = waiting();
  clock.pass(50);
  inactivity.touch();
  clock.pass(60);
  inactivity.end();
  clock.pass(1_000);
  expect(silences).toEqual([]);
  expect(clock.timers.size).toBe(0);
});

const restarts = new Restarts({ firstMs: 100, longestMs: 1_000, memoryMs: 10_000, limit: 6 });

test("starts at once without crashes", () => {
  expect(restarts.next([])).toEqual({ at: Number.NEGATIVE_INFINITY, givenUp: false });
});

test("doubles the wait with each crash, up to a limit", () => {
  const waits = [1, 2, 3, 4, 5].map((count) => {
    const crashes = Array.from({ length: count }, (_, index) => index * 10);
    return restarts.next(crashes).at - (count - 1) * 10;
  });
  expect(waits).toEqual([100, 200, 400, 800, 1_000]);
});

test("forgets old crashes", () => {
  expect(restarts.next([0, 10, 20, 30_000])).toEqual({ at: 30_100, givenUp: false });
});

test("gives up after too many crashes until the oldest is forgotten", () => {
  expect(restarts.next([0, 10, 20, 30, 40, 50])).toEqual({ at: 10_000, givenUp: true });
});

test("remembers no more crashes than the limit", () => {
  let crashes: number[] = [];
  for (let at = 0; at < 1_000; at += 1) crashes = restarts.remember(crashes, at);
  expect(crashes).toEqual([994, 995, 996, 997, 998, 999]);
  expect(restarts.remember(crashes, 50_000)).toEqual([50_000]);
});
