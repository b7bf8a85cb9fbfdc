import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { Turn } from "./turn.ts";

const begun = () => new Turn("t1", "2026-01-01T00:00:00.000Z", () => []);

test("who listens is told when a turn is cancelled, with why", () => {
  const turn = begun();
  const { signal } = turn;
  expect([turn.isOver, signal.aborted]).toEqual([false, false]);
  turn.cancel("somebody wants it to end");
  expect([turn.isOver, turn.isCancelled, signal.reason]).toMatchObject([
    true,
    true,
    { message: "somebody wants it to end" },
  ]);
  turn.finish();
  expect(signal.reason).toMatchObject({ message: "somebody wants it to end" });
});

test("who listens only after its end learns the same", () => {
  const cancelled = begun();
  cancelled.cancel("too late");
  expect(cancelled.signal.reason).toMatchObject({ message: "too late" });
  const over = begun();
  over.finish();
  expect([over.isCancelled, over.signal.aborted]).toEqual([false, true]);
});

test("what could not be written is waited for no less, and takes nobody down before its end", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const turn = begun();
  turn.awaits(Promise.reject(new Error("the disk is full")));
  await nextTurn();
  await turn.written();
  expect([unhandled, turn.written()]).toEqual([[], undefined]);
});
