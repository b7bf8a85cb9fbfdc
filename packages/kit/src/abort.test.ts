import { expect, test } from "vitest";
import { raceAbort } from "./abort.ts";

test("raceAbort abandons a promise that rejects after the signal has aborted", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const rejecting = new Promise((_, reject) => setImmediate(() => reject(new Error("late"))));
  await expect(raceAbort(rejecting, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

test("raceAbort rejects with the reason of the signal and leaves no listener behind", async () => {
  const controller = new AbortController();
  const waiting = raceAbort(new Promise(() => undefined), controller.signal);
  controller.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  await expect(raceAbort(Promise.resolve(1), controller.signal)).rejects.toThrow("stopped");
  expect(await raceAbort(Promise.resolve(1), new AbortController().signal)).toBe(1);
});

test("raceAbort leaves no rejection unhandled when the signal aborted before", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  await expect(raceAbort(Promise.reject(new Error("late")), AbortSignal.abort())).rejects.toThrow();
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
