import { describe, expect, it } from "vitest";
import { EventQueue } from "./event-queue.ts";

describe("an event queue", () => {
  it("delivers events in order, those of before and those to come, and then its end", async () => {
    const queue = new EventQueue<number>();
    void queue.push(1);
    const read = Array.fromAsync(queue);
    await Promise.resolve();
    void queue.push(2);
    void queue.push(3);
    queue.end();
    void queue.push(4);
    expect(await read).toEqual([1, 2, 3]);
  });

  it("delivers what it holds before its error", async () => {
    const queue = new EventQueue<number>();
    void queue.push(1);
    queue.end(new Error("over"));
    const seen: number[] = [];
    await expect(
      (async () => {
        for await (const event of queue) seen.push(event);
      })(),
    ).rejects.toThrow("over");
    expect(seen).toEqual([1]);
  });

  it("holds its writer back when it is full, until the reader takes events", async () => {
    const queue = new EventQueue<number>(2, 60_000);
    expect(queue.push(1)).toBeUndefined();
    let hasRoom = false;
    const full = Promise.resolve(queue.push(2)).then(() => {
      hasRoom = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(hasRoom).toBe(false);
    const reader = queue[Symbol.asyncIterator]();
    for (let taken = 0; taken < 2; taken += 1) await reader.next();
    void reader.next();
    await full;
  });

  it("fails for a reader that takes nothing, and frees the writer", async () => {
    const queue = new EventQueue<number>(1, 5);
    await queue.push(1);
    await expect(Array.fromAsync(queue)).rejects.toMatchObject({ code: "slow_reader" });
  });
});
