import { expect, test } from "vitest";
import { Checkpointer } from "./checkpointer.ts";

/** A checkpointer whose clock goes off when told to, and which fails as often as told to. */
function checkpointer({ failures = 0 } = {}) {
  const [timers, made] = [new Set<() => void>(), [] as string[]];
  const clock = {
    now: () => new Date(0),
    after(_milliseconds: number, run: () => void) {
      timers.add(run);
      return () => void timers.delete(run);
    },
  };
  const make = async () => {
    made.push(failures > 0 ? "failed" : "made");
    failures -= 1;
    return made.at(-1) === "made";
  };
  const goOff = () => {
    for (const run of timers) run();
  };
  return { checkpointer: new Checkpointer(make, clock), made, goOff, timers };
}

test("many entries are covered by one checkpoint, and none is made when there is nothing new", async () => {
  const { checkpointer: checkpoints, made, goOff, timers } = checkpointer();
  await checkpoints.flush();
  checkpoints.due();
  checkpoints.due();
  goOff();
  await checkpoints.flush();
  expect(made).toEqual(["made"]);
  expect(timers).toHaveLength(0);
});

test("one that could not be made is made when it is asked for next, without a new entry", async () => {
  const { checkpointer: checkpoints, made } = checkpointer({ failures: 1 });
  checkpoints.due();
  await checkpoints.flush();
  expect(made).toEqual(["failed"]);
  await checkpoints.flush();
  await checkpoints.flush();
  expect(made).toEqual(["failed", "made"]);
});
