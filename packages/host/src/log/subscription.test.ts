import { describe, expect, test } from "vitest";
import type { Cursor, Gap, Hole, LoggedEvent } from "./logged-event.ts";
import { type LogSource, type LogSubscriber, Subscription } from "./subscription.ts";

const EPOCH = 2;

/** A log in memory: what was written is pushed to the subscriptions of its session. */
class TestLog implements LogSource {
  readonly epoch = EPOCH;
  readonly events: LoggedEvent[] = [];
  readonly joined = new Map<string, Set<Subscription>>();
  readonly lastOfEpochs = new Map<number, number>();
  readonly pruned = new Map<string, number>();
  lost: Hole[] = [];
  pages = 0;
  /** Runs while a page is on its way. */
  duringPage: () => void = () => undefined;

  write(session: string): number {
    const order = this.written() + 1;
    const event = { tenant: "t", session, order, epoch: EPOCH, at: 0, message: { order } };
    this.events.push(event);
    for (const subscription of this.joined.get(session) ?? []) subscription.push(event);
    return order;
  }

  async page(sessions: readonly string[], after: number): Promise<LoggedEvent[]> {
    this.pages += 1;
    const found = this.events.filter(({ session, order }) => sessions.includes(session) && order > after);
    await Promise.resolve();
    this.duringPage();
    return found.slice(0, 2);
  }

  lastOf = async (epoch: number) => this.lastOfEpochs.get(epoch) ?? 0;
  prunedUntil = async (session: string) => this.pruned.get(session) ?? 0;
  holes = async (after: number) => this.lost.filter(({ last }) => last > after);
  written = () => this.events.length;
  newest = (of: string) => this.events.findLast(({ session }) => session === of)?.order ?? 0;

  join(session: string, subscription: Subscription): void {
    const members = this.joined.get(session) ?? new Set();
    this.joined.set(session, members.add(subscription));
  }

  leave(session: string, subscription: Subscription): void {
    this.joined.get(session)?.delete(subscription);
  }
}

/** A subscriber that notes what it gets, and has room while nothing else is set. */
function follow(log: LogSource, from: Cursor = { epoch: EPOCH, order: 0 }) {
  const got: number[] = [];
  const gaps: (Gap & { readonly session: string })[] = [];
  const failures: unknown[] = [];
  const room: { wait: Promise<void> | undefined } = { wait: undefined };
  const subscriber: LogSubscriber = {
    tenant: "t",
    event: ({ order }) => {
      got.push(order);
      return room.wait;
    },
    gap: (session, gap) => gaps.push({ session, ...gap }),
    failed: (error) => failures.push(error),
  };
  return { subscription: new Subscription(log, subscriber, from), got, gaps, failures, room };
}

/** Lets everything that waits for resolved promises run. */
const settle = () => new Promise(setImmediate);

describe("a subscription", () => {
  test("gets messages as they are written, of its sessions alone, without reading the store", async () => {
    const log = new TestLog();
    const { subscription, got } = follow(log);
    subscription.add("a");
    log.write("a");
    log.write("b");
    log.write("a");
    expect(got).toEqual([1, 3]);
    expect([subscription.position, log.pages]).toEqual([3, 0]);
    expect(subscription.sessions).toEqual(["a"]);
  });

  test("reads what was written before it began, page by page, then follows", async () => {
    const log = new TestLog();
    for (let count = 0; count < 5; count += 1) log.write("a");
    const { subscription, got } = follow(log);
    subscription.add("a", 0);
    expect(got).toEqual([]);
    await settle();
    log.write("a");
    expect(got).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("misses nothing and repeats nothing that is written while a page is on its way", async () => {
    const log = new TestLog();
    log.write("a");
    const { subscription, got } = follow(log);
    let left = 3;
    log.duringPage = () => {
      if (left > 0) log.write("a");
      left -= 1;
    };
    subscription.add("a", 0);
    await settle();
    expect(got).toEqual([1, 2, 3, 4]);
  });

  test("reads a session that is added while another is being read, from its own position", async () => {
    const log = new TestLog();
    log.write("a");
    log.write("b");
    log.write("b");
    const { subscription, got } = follow(log);
    subscription.add("a", 0);
    subscription.add("b", 2);
    await settle();
    expect(got).toEqual([1, 3]);
  });

  test("delivers no more while its subscriber has no room, and catches up after that", async () => {
    const log = new TestLog();
    const { subscription, got, room } = follow(log);
    subscription.add("a");
    const { promise, resolve } = Promise.withResolvers<void>();
    room.wait = promise;
    log.write("a");
    log.write("a");
    log.write("a");
    await settle();
    expect(got).toEqual([1]);
    expect([subscription.isBehind(3), subscription.isBehind(1)]).toEqual([true, false]);
    const reached = subscription.reached(3);
    room.wait = undefined;
    resolve();
    await reached;
    expect(got).toEqual([1, 2, 3]);
    await settle();
    expect(subscription.isBehind(3)).toBe(false);
  });

  test("has caught up however busily other sessions are written to", async () => {
    const log = new TestLog();
    log.write("a");
    const { subscription, got } = follow(log);
    let busy = 1_000;
    log.duringPage = () => {
      if (busy-- > 0) log.write("b");
    };
    subscription.add("a", 0);
    await subscription.reached(log.written());
    expect(got).toEqual([1]);
    expect(log.pages).toBe(2);
  });

  test("gets nothing of a session that was removed, and nothing at all once it is closed", async () => {
    const log = new TestLog();
    const { subscription, got } = follow(log);
    subscription.add("a");
    subscription.add("b");
    subscription.remove("a");
    subscription.remove("unknown");
    log.write("a");
    log.write("b");
    subscription.close();
    log.write("b");
    subscription.add("c");
    log.write("c");
    await settle();
    expect(got).toEqual([2]);
    expect([...log.joined.values()].map(({ size }) => size)).toEqual([0, 0]);
  });

  test("is read no further when it is closed between two messages of a page", async () => {
    const log = new TestLog();
    log.write("a");
    log.write("a");
    const { subscription, got, room } = follow(log);
    const { promise, resolve } = Promise.withResolvers<void>();
    room.wait = promise;
    subscription.add("a", 0);
    await settle();
    subscription.close();
    resolve();
    await settle();
    expect(got).toEqual([1]);
  });

  test("fails once when the store cannot be read, and takes nothing after that", async () => {
    const log = new TestLog();
    log.write("a");
    log.page = () => Promise.reject(new Error("disk"));
    const { subscription, got, failures } = follow(log);
    subscription.add("a", 0);
    await settle();
    subscription.fail(new Error("again"));
    log.write("a");
    expect(failures).toMatchObject([{ message: "disk" }]);
    expect(got).toEqual([]);
  });
});

describe("a gap", () => {
  test("is reported for what an earlier run had delivered and lost, and what follows is new", async () => {
    const log = new TestLog();
    log.lastOfEpochs.set(1, 3);
    for (let count = 0; count < 4; count += 1) log.write("a");
    const { subscription, got, gaps } = follow(log, { epoch: 1, order: 9 });
    subscription.add("a");
    await settle();
    expect(gaps).toEqual([{ session: "a", after: 3, until: 9, reason: "lost" }]);
    expect(got).toEqual([4]);
  });

  test("is none where an earlier run ended at or after what was delivered", async () => {
    const log = new TestLog();
    log.lastOfEpochs.set(1, 3);
    for (let count = 0; count < 4; count += 1) log.write("a");
    const { subscription, got, gaps } = follow(log, { epoch: 1, order: 2 });
    subscription.add("a");
    await settle();
    expect([gaps, got]).toEqual([[], [3, 4]]);
  });

  test("is reported for what was deleted, and once for each session", async () => {
    const log = new TestLog();
    for (let count = 0; count < 3; count += 1) log.write("a");
    log.pruned.set("a", 2);
    const { subscription, gaps, room } = follow(log);
    subscription.add("a", 1);
    subscription.add("b", 0);
    await settle();
    expect(gaps).toEqual([{ session: "a", after: 1, until: 2, reason: "retention" }]);
    log.pruned.set("a", 9);
    room.wait = Promise.resolve();
    log.write("a");
    await settle();
    expect(gaps).toHaveLength(1);
  });

  test("is reported from where the session is followed, where a part of it was seen", async () => {
    const log = new TestLog();
    for (let count = 0; count < 9; count += 1) log.write("a");
    log.lost = [
      { tenant: "t", first: 3, last: 5 },
      { tenant: "t", first: 8, last: 8 },
    ];
    const { subscription, gaps } = follow(log, { epoch: EPOCH, order: 4 });
    subscription.add("a");
    await settle();
    expect(gaps).toEqual([
      { session: "a", after: 4, until: 5, reason: "lost" },
      { session: "a", after: 7, until: 8, reason: "lost" },
    ]);
  });
});
