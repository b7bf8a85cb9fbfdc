import { expect, test } from "vitest";
import { Refresher } from "./graph-view.tsx";

/** A refresher whose task and pauses end when the test says so. */
function refresher() {
  const steps: string[] = [];
  let finish = () => {};
  const step = (name: string) => () => {
    steps.push(name);
    return new Promise<void>((resolve) => {
      finish = resolve;
    });
  };
  const made = new Refresher(step("task"), step("pause"));
  const next = async () => {
    finish();
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
  return { request: () => made.request(), steps, next };
}

test("a request runs the task at once", () => {
  const { request, steps } = refresher();
  request();
  expect(steps).toEqual(["task"]);
});

test("requests while it runs or pauses become one more run", async () => {
  const { request, steps, next } = refresher();
  request();
  request();
  await next();
  request();
  request();
  await next();
  expect(steps).toEqual(["task", "pause", "task"]);
  await next();
  await next();
  expect(steps).toEqual(["task", "pause", "task", "pause"]);
  request();
  expect(steps).toEqual(["task", "pause", "task", "pause", "task"]);
});
