import { setImmediate as tick } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { awaitAnswer } from "./ask-clients.ts";

test("an abort while the approval is being read rejects the caller, and nothing else", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const read = Promise.withResolvers<undefined>();
  const approvals = { get: () => read.promise, subscribe: () => () => undefined };
  const abort = new AbortController();
  const asking = { id: "a", tenant: "default", signal: abort.signal, offer: async () => undefined };
  const answer = awaitAnswer({ approvals } as never, asking);
  abort.abort(new Error("canceled"));
  await tick();
  await tick();
  read.resolve(undefined);
  await expect(answer).rejects.toThrow("canceled");
  expect(unhandled).toEqual([]);
});
