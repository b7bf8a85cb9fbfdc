import { describe, expect, it } from "vitest";
import { ModelQueue } from "./ask-model.ts";

const live = () => new AbortController().signal;

describe("the queue of a model", () => {
  it("admits one request at a time, in order, and does not block other models", async () => {
    const queue = new ModelQueue();
    const order: string[] = [];
    const leaveFirst = await queue.enter("m", live());
    const waiting = ["b", "c"].map(async (name) => {
      const leave = await queue.enter("m", live());
      order.push(name);
      leave();
    });
    (await queue.enter("other", live()))();
    expect(order).toEqual([]);
    leaveFirst();
    await Promise.all(waiting);
    expect(order).toEqual(["b", "c"]);
  });

  it("keeps its order when a waiting request is cancelled", async () => {
    const queue = new ModelQueue();
    const leave = await queue.enter("m", live());
    const impatient = new AbortController();
    const gone = queue.enter("m", impatient.signal);
    const patient = queue.enter("m", live());
    impatient.abort(new Error("cancelled"));
    await expect(gone).rejects.toThrow("cancelled");
    leave();
    (await patient)();
  });

  it("rejects a request that is already cancelled", async () => {
    const queue = new ModelQueue();
    await expect(queue.enter("m", AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
    (await queue.enter("m", live()))();
  });
});
