import { expect, test } from "vitest";
import { systemClock } from "./clock.ts";
import { ManualClock } from "./manual-clock.ts";

test("the system clock does not fire a very long timer at once, and cancels", async () => {
  const fired: string[] = [];
  const cancels = [2 ** 31, 1e12, Number.POSITIVE_INFINITY].map((delay) =>
    systemClock.after(delay, () => fired.push(String(delay))),
  );
  const cancelled = systemClock.after(1, () => fired.push("cancelled"));
  cancelled();
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (const cancel of cancels) cancel();
  expect(fired).toEqual([]);
});

test("the manual clock runs timers at their time, those set on the way too, and none when it is set", () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const fired: [string, number][] = [];
  const start = clock.now().getTime();
  const note = (name: string) => fired.push([name, clock.now().getTime() - start]);
  clock.after(20, () => note("late"));
  clock.after(10, () => {
    note("early");
    clock.after(5, () => note("between"));
  });
  clock.after(15, () => note("cancelled"))();
  clock.set(new Date(start + 5));
  expect(fired).toEqual([]);
  clock.advance(25);
  expect(fired).toEqual([
    ["early", 10],
    ["between", 15],
    ["late", 20],
  ]);
  expect([clock.waiting, clock.now().getTime() - start]).toEqual([0, 30]);
});
