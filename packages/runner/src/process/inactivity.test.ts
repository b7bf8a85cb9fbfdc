import type { Clock } from "@reins/kit";
import { expect, test } from "vitest";
import { Inactivity } from "./inactivity.ts";

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
  const onSilent = () => void silences.push(clock.now().getTime());
  return { clock, silences, inactivity: new Inactivity({ clock, milliseconds: 100, onSilent }) };
}

test("silence ends it, once", () => {
  const { clock, silences } = waiting();
  clock.pass(1_000);
  expect(silences).toEqual([100]);
});

test("it waits as long as something is heard, and from then on", () => {
  const { clock, silences, inactivity } = waiting();
  for (let count = 0; count < 50; count += 1) {
    clock.pass(90);
    inactivity.heard();
  }
  expect(silences).toEqual([]);
  clock.pass(99);
  expect(silences).toEqual([]);
  clock.pass(1);
  expect(silences).toEqual([4_600]);
});

test("once over, it says nothing and holds no timer", () => {
  const { clock, silences, inactivity } = waiting();
  clock.pass(50);
  inactivity.heard();
  clock.pass(60);
  inactivity.end();
  clock.pass(1_000);
  expect(silences).toEqual([]);
  expect(clock.timers.size).toBe(0);
});
