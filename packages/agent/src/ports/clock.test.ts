import { expect, test } from "vitest";
import { systemClock } from "../agent-dependencies.ts";

test("a delay beyond the limit of timers does not fire at once", async () => {
  const abort = new AbortController();
  let isOver = false;
  const waiting = systemClock.sleep(2 ** 40, abort.signal).then(() => {
    isOver = true;
  });
  await systemClock.sleep(20, abort.signal);
  expect(isOver).toBe(false);
  abort.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow();
});
