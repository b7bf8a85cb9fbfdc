import { describe, expect, it } from "vitest";
import { CommitQueue, Pace, weightOf } from "./commit-queue.ts";
import type { Outcome, Write } from "./threads.ts";

it("does the first thing at once and then one in each turn, in order", async () => {
  const pace = new Pace();
  const done: number[] = [];
  for (const number of [1, 2, 3]) pace.add(() => void done.push(number));
  expect(done).toEqual([1]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([1, 2]);
  pace.add(() => void done.push(4));
  while (done.length < 4) await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([1, 2, 3, 4]);
  await new Promise((resolve) => setImmediate(resolve));
  pace.add(() => void done.push(5));
  expect(done).toEqual([1, 2, 3, 4, 5]);
});

const AMPLE = { commits: 100_000, bytes: 1e9 };

/** Writers that reply on request; each commit returns its argument. */
function heldWriter() {
  const chunks: {
    writes: readonly Write[];
    answer: (outcomes: readonly Outcome[]) => void;
    fail: (error: Error) => void;
  }[] = [];
  const send = (writes: readonly Write[]): Promise<readonly Outcome[]> => {
    if (writes.some(({ changes }) => changes[0]?.args === "uncopyable")) throw new Error("cannot be copied");
    return new Promise((answer, fail) => void chunks.push({ writes, answer, fail }));
  };
  const answer = () => {
    for (const { writes, answer: settle } of chunks.splice(0))
      settle(writes.map(({ changes }) => ({ results: [changes[0]?.args] })));
  };
  return { chunks, send, answer };
}

const commit = (args: unknown): Write => ({ changes: [{ tables: "t", name: "n", args }], durable: true });
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** Lets the event loop turn until everything has settled; returns how many times. */
async function turnsUntil(settled: Promise<unknown>): Promise<number> {
  let done = false;
  void settled.finally(() => {
    done = true;
  });
  let turns = 0;
  for (; !done; turns += 1) await turn();
  return turns;
}

describe("the queue of commits", () => {
  it("hands over together what is asked for together, up to a chunk in each turn", async () => {
    const { chunks, send, answer } = heldWriter();
    const queue = new CommitQueue(send, AMPLE);
    const all = Promise.all(Array.from({ length: 150 }, (_, index) => queue.add(commit(index))));
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(chunks.map(({ writes }) => writes.length)).toEqual([64]);
    await turn();
    await turn();
    await turn();
    expect(chunks.map(({ writes }) => writes.length)).toEqual([64, 64, 22]);
    answer();
    expect(await all).toEqual(Array.from({ length: 150 }, (_, index) => [index]));
  });

  it("sends everything queued before a durable commit together with it", async () => {
    const { chunks, send, answer } = heldWriter();
    const queue = new CommitQueue(send, AMPLE);
    const relaxed = queue.add({ ...commit(1), durable: false }, { relaxed: true });
    const quick = queue.add({ ...commit(2), durable: false });
    await Promise.resolve();
    const durable = Promise.resolve().then(() => queue.add(commit(3)));
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(chunks.map(({ writes }) => writes.map(({ changes }) => changes[0]?.args))).toEqual([[1, 2, 3]]);
    answer();
    await Promise.all([relaxed, quick, durable]);
  });

  it("holds relaxed commits back for others, but not for long", async () => {
    const { chunks, send, answer } = heldWriter();
    const queue = new CommitQueue(send, AMPLE);
    const relaxed = [1, 2].map((args) => queue.add({ ...commit(args), durable: false }, { relaxed: true }));
    await turn();
    expect(chunks).toEqual([]);
    while (chunks.length === 0) await turn();
    expect(chunks.map(({ writes }) => writes.length)).toEqual([2]);
    answer();
    await Promise.all(relaxed);
    const last = queue.add({ ...commit(3), durable: false }, { relaxed: true });
    const idle = queue.idle();
    while (chunks.length === 0) await turn();
    answer();
    await Promise.all([last, idle]);
  });

  it("does not forget relaxed commits that came while a chunk was sent", async () => {
    const { chunks, send, answer } = heldWriter();
    const queue = new CommitQueue(send, AMPLE);
    const durable = queue.add(commit(1));
    await new Promise<void>((resolve) => process.nextTick(resolve));
    const relaxed = [2, 3].map((args) => queue.add({ ...commit(args), durable: false }, { relaxed: true }));
    while (chunks.length < 2) await turn();
    expect(chunks.map(({ writes }) => writes.length)).toEqual([1, 2]);
    answer();
    await Promise.all([durable, ...relaxed]);
  });

  it("settles a chunk in each turn, however many were answered at once", async () => {
    const { chunks, send, answer } = heldWriter();
    const queue = new CommitQueue(send, AMPLE);
    const all = Promise.all(Array.from({ length: 640 }, (_, index) => queue.add(commit(index))));
    while (chunks.length < 10) await turn();
    answer();
    expect(await turnsUntil(all)).toBeGreaterThanOrEqual(9);
  });

  it("makes smaller chunks of bigger commits, and hands over even the biggest", async () => {
    const { chunks, send, answer } = heldWriter();
    const queue = new CommitQueue(send, AMPLE, { commits: 64, bytes: 1_000 });
    const all = [400, 400, 400, 5_000, 10].map((length) => queue.add(commit("x".repeat(length))));
    while (chunks.length < 4) await turn();
    expect(chunks.map(({ writes }) => writes.length)).toEqual([2, 1, 1, 1]);
    answer();
    await Promise.all(all);
  });

  it("does not hand over without end what is not answered", async () => {
    const { chunks, send, answer } = heldWriter();
    const queue = new CommitQueue(send, AMPLE);
    const all = Promise.all(Array.from({ length: 5_000 }, (_, index) => queue.add(commit(index))));
    for (let turns = 0; turns < 100; turns += 1) await turn();
    expect(chunks.reduce((sum, { writes }) => sum + writes.length, 0)).toBe(2_048);
    const answering = setInterval(answer, 0);
    expect(await all).toHaveLength(5_000);
    clearInterval(answering);
  });

  it("refuses what exceeds its limits and takes more when something has settled", async () => {
    const { send, answer } = heldWriter();
    const queue = new CommitQueue(send, { commits: 3, bytes: 10_000 });
    const big = queue.add(commit("x".repeat(20_000)));
    await expect(queue.add(commit("x"))).rejects.toMatchObject({ code: "overloaded" });
    await turn();
    answer();
    await big;
    const small = [1, 2, 3].map((number) => queue.add(commit(number)));
    await expect(queue.add(commit(4))).rejects.toMatchObject({ code: "overloaded", retryable: true });
    await turn();
    answer();
    expect(await Promise.all(small)).toEqual([[1], [2], [3]]);
    const last = queue.add(commit(5));
    await turn();
    answer();
    expect(await last).toEqual([5]);
  });

  it("fails only the commit that cannot be handed over, and keeps the order of the others", async () => {
    const { chunks, send, answer } = heldWriter();
    const queue = new CommitQueue(send, AMPLE);
    const [first, bad, last] = ["a", "uncopyable", "b"].map((args) => queue.add(commit(args)));
    await expect(bad).rejects.toMatchObject({ code: "invalid", message: "cannot be copied" });
    expect(chunks.flatMap(({ writes }) => writes.map(({ changes }) => changes[0]?.args))).toEqual(["a", "b"]);
    answer();
    expect([await first, await last]).toEqual([["a"], ["b"]]);
  });

  it("fails the commits of a writer that is gone, or that says nothing of them", async () => {
    const { chunks, send } = heldWriter();
    const queue = new CommitQueue(send, AMPLE);
    const lost = queue.add(commit("a"));
    await turn();
    chunks[0]!.fail(new Error("gone"));
    await expect(lost).rejects.toThrow("gone");
    const forgotten = queue.add(commit("b"));
    await turn();
    chunks[1]!.answer([]);
    await expect(forgotten).rejects.toMatchObject({ code: "io" });
  });

  it("is idle when everything has settled", async () => {
    const { send, answer } = heldWriter();
    const queue = new CommitQueue(send, AMPLE);
    await queue.idle();
    let idle = false;
    const commits = [1, 2].map((number) => queue.add(commit(number)));
    const waiting = queue.idle().then(() => {
      idle = true;
    });
    await turn();
    expect(idle).toBe(false);
    answer();
    await waiting;
    await Promise.all(commits);
  });
});

describe("the weight of plain data", () => {
  it("grows with what is in it", () => {
    expect(weightOf("x".repeat(1_000), 1e9)).toBeGreaterThanOrEqual(1_000);
    expect(weightOf([{ deep: { text: "x".repeat(1_000) } }], 1e9)).toBeGreaterThanOrEqual(1_000);
    expect(weightOf(new Uint8Array(5_000), 1e9)).toBeGreaterThanOrEqual(5_000);
    expect(weightOf({ view: Buffer.alloc(5_000), buffer: new ArrayBuffer(5_000) }, 1e9)).toBeGreaterThan(
      10_000,
    );
    expect(
      weightOf(
        Array.from({ length: 200_000 }, () => 1),
        1e9,
      ),
    ).toBeGreaterThan(200_000);
    expect(weightOf([null, undefined, 1, true, 2n], 1e9)).toBeLessThan(100);
  });

  it("ends, whatever it is given", () => {
    const circle: { self?: unknown } = {};
    circle.self = [circle, circle];
    expect(weightOf(circle, 10_000)).toBeGreaterThanOrEqual(10_000);
  });
});
