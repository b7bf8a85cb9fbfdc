import { expect, test } from "vitest";
import { Bell } from "./bell.ts";

test("a ring is heard by who waits, and by who comes to wait", async () => {
  const bell = new Bell();
  const waiting = bell.wait();
  bell.ring();
  await waiting;
  bell.ring();
  bell.ring();
  await bell.wait();
  let heard = false;
  const next = bell.wait().then(() => {
    heard = true;
  });
  await new Promise(setImmediate);
  expect(heard).toBe(false);
  bell.ring();
  await next;
});
