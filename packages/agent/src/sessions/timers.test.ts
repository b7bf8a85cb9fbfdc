import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ScriptedControl } from "../../test/scripted-control.ts";
import { Heartbeat, IdleWork } from "./sessions.ts";

const clock = { now: () => new Date() };

describe("the heartbeat", () => {
  test("is reported while any turn runs, and only then", async () => {
    const control = new ScriptedControl();
    const heartbeat = new Heartbeat(control, clock, 5);
    const [first, second] = [heartbeat.begin(), heartbeat.begin()];
    await expect.poll(() => control.reported.length).toBeGreaterThan(1);
    expect(control.reported[0]).toMatchObject({
      type: "heartbeat",
      current_state: "running",
      pending_actions: 2,
    });
    first();
    second();
    const beats = control.reported.length;
    await wait(25);
    expect(control.reported.length).toBe(beats);
  });
});

describe("idle work", () => {
  const idleWork = (faults: unknown[] = []) =>
    new IdleWork({ delayMs: 10, now: clock.now, onFault: (fault) => void faults.push(fault) });

  test("runs after the idle time, one job after another", async () => {
    const work = idleWork();
    const order: string[] = [];
    const run = (name: string) => async (idleMs: number) => {
      expect(idleMs).toBeGreaterThanOrEqual(10);
      order.push(`${name} begins`);
      await wait(5);
      order.push(`${name} ends`);
    };
    work.schedule("a", run("a"));
    work.schedule("b", run("b"));
    expect(order).toEqual([]);
    await expect.poll(() => order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });

  test("is cancelled when its session is active again", async () => {
    const work = idleWork();
    const done: string[] = [];
    work.schedule("a", async () => void done.push("a"));
    work.cancel("a");
    work.schedule("b", async () => void done.push("b"));
    await expect.poll(() => done).toEqual(["b"]);
  });

  test("that is scheduled while other work runs waits for it", async () => {
    const work = idleWork();
    const order: string[] = [];
    work.schedule("a", async () => {
      order.push("a begins");
      work.cancel("a");
      work.schedule("b", async () => void order.push("b"));
      await wait(40);
      order.push("a ends");
    });
    await expect.poll(() => order).toEqual(["a begins", "a ends", "b"]);
  });

  test("that fails does not stop the rest", async () => {
    const faults: unknown[] = [];
    const work = idleWork(faults);
    const done: string[] = [];
    work.schedule("a", () => Promise.reject(new Error("no")));
    work.schedule("b", async () => void done.push("b"));
    await expect.poll(() => done).toEqual(["b"]);
    expect(faults).toHaveLength(1);
  });
});
