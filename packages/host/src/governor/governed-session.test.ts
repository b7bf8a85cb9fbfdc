import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { Turn } from "./turn.ts";

const begun = () => new Turn("t1", "2026-01-01T00:00:00.000Z", () => []);

test("aborts its signal with the reason when a turn is cancelled", () => {
  const turn = begun();
  const { signal } = turn;
  expect([turn.isOver, signal.aborted]).toEqual([false, false]);
  turn.cancel("a client cancelled it");
  expect([turn.isOver, turn.isCancelled, signal.reason]).toMatchObject([
    true,
    true,
    { message: "a client cancelled it" },
  ]);
  turn.finish();
  expect(signal.reason).toMatchObject({ message: "a client cancelled it" });
});

test("who listens only after its end learns the same", () => {
  const cancelled = begun();
  cancelled.cancel("too late");
  expect(cancelled.signal.reason).toMatchObject({ message: "too late" });
  const over = begun();
  over.finish();
  expect([over.isCancelled, over.signal.aborted]).toEqual([false, true]);
});

test("waits for a write that fails, without an unhandled rejection before its end", async () => {
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
