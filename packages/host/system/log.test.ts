import { randomBytes } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { change, openSqlite, type Store, StoreError } from "@reins/store";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { settled } from "../src/log/backlog.ts";
import { EventLog } from "../src/log/event-log.ts";
import { Journal } from "../src/log/journal.ts";
import type { Cursor, Gap, LoggedEvent } from "../src/log/logged-event.ts";
import { logTables } from "../src/log/tables.ts";

/** The folder of each store, for the journal beside it. */
const folders = new WeakMap<Store, string>();

async function newStore(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), "log-"));
  const store = await openSqlite({ path: join(folder, "reins.db"), tables: [logTables] });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  folders.set(store, folder);
  return store;
}

const open = (store: Store, maxWaiting = 50) =>
  EventLog.open({ store, now: () => 0, maxWaiting, journal: folders.get(store) ?? "" });

const message = (n: number, session = "s", tenant = "t") => ({
  tenant,
  session,
  message: { method: "session/update", params: { n } },
});

/** Follows sessions into lists. */
function following(
  log: EventLog,
  from: Cursor,
  { sessions = ["s"], pace }: { sessions?: string[]; pace?: () => Promise<void> | undefined } = {},
) {
  const seen: LoggedEvent[] = [];
  const gaps: [string, Gap][] = [];
  const failures: unknown[] = [];
  const subscription = log.subscribe(
    {
      tenant: "t",
      event: (event) => {
        seen.push(event);
        return pace?.();
      },
      gap: (session, gap) => void gaps.push([session, gap]),
      failed: (error) => void failures.push(error),
    },
    from,
  );
  for (const session of sessions) subscription.add(session);
  onTestFinished(() => subscription.close());
  const numbers = () => seen.map(({ message: { params } }) => (params as { n: number }).n);
  return { seen, gaps, failures, subscription, numbers };
}

const range = (from: number, until: number) => Array.from({ length: until - from + 1 }, (_, n) => from + n);
const START = (log: EventLog): Cursor => ({ epoch: log.epoch, order: 0 });

describe("the log", () => {
  test("gives everybody every message of the sessions they follow once, in order, wherever they begin", async () => {
    const log = await open(await newStore());
    for (let n = 1; n <= 50; n += 1) await log.append(message(n));
    await log.append(message(1, "other"));
    const { order } = await log.end("t");
    const [first, late] = [
      following(log, START(log)),
      following(log, { epoch: log.epoch, order: order - 6 }),
    ];
    const both = following(log, { epoch: log.epoch, order }, { sessions: ["s", "other"] });
    for (let n = 51; n <= 100; n += 1) {
      await log.append(message(n));
      if (n % 7 === 0) await log.append(message(n, "other"));
      if (n % 11 === 0) await new Promise(setImmediate);
    }
    await expect.poll(() => [first.seen.length, late.seen.length]).toEqual([100, 55]);
    expect(first.numbers()).toEqual(range(1, 100));
    expect(late.numbers()).toEqual(range(46, 100));
    await expect.poll(() => both.seen.length).toBe(57);
    const orders = both.seen.map((event) => event.order);
    expect(orders).toEqual(orders.toSorted((left, right) => left - right));
    expect([...first.gaps, ...late.gaps]).toEqual([]);
  });

  test("is written before anybody gets it", async () => {
    const store = await newStore();
    const log = await open(store);
    let written = 0;
    const subscription = log.subscribe(
      {
        tenant: "t",
        event: async () => {
          written = (await log.page("t", ["s"], 0)).length;
        },
        gap: () => undefined,
        failed: () => undefined,
      },
      START(log),
    );
    subscription.add("s");
    await log.append(message(1));
    await expect.poll(() => written).toBe(1);
  });

  test("lets a reader that stops reading continue from the disk, at no cost to the others", async () => {
    const log = await open(await newStore());
    const held = Promise.withResolvers<void>();
    const slow = following(log, START(log), { pace: () => held.promise });
    const fast = following(log, START(log));
    for (let n = 1; n <= 1_000; n += 1) await log.append(message(n));
    await expect.poll(() => fast.seen.length).toBe(1_000);
    expect(slow.seen).toHaveLength(1);
    held.resolve();
    await expect.poll(() => slow.seen.length).toBe(1_000);
    expect(slow.numbers()).toEqual(range(1, 1_000));
  });

  test("gives what was written together from any place in it on, piece by piece", async () => {
    const store = await newStore();
    const log = await open(store, 10_000);
    const said = (n: number) => (n % 100 === 0 ? "long ".repeat(10_000) : `line\n${n}`);
    for (let n = 1; n <= 1_000; n += 1)
      log.append({
        tenant: "t",
        session: n > 700 ? "other" : "s",
        message: { params: { n, said: said(n) } },
      });
    await log.flush();
    const pagesAfter = async (after: number, sessions: string[]): Promise<LoggedEvent[]> => {
      const page = await log.page("t", sessions, after);
      return page.length === 0 ? [] : [...page, ...(await pagesAfter(page.at(-1)?.order ?? 0, sessions))];
    };
    for (const after of [0, 1, 126, 127, 128, 129, 399, 699, 700, 701, 999, 1_000]) {
      const events = await pagesAfter(after, ["s", "other"]);
      expect(events.map(({ order }) => order)).toEqual(range(after + 1, 1_000));
      for (const { order, session, message: told } of events) {
        expect(told).toEqual({ params: { n: order, said: said(order) } });
        expect(session).toBe(order > 700 ? "other" : "s");
      }
    }
    expect((await pagesAfter(650, ["s"])).map(({ order }) => order)).toEqual(range(651, 700));
    expect(await log.counts("t", ["s", "other"])).toEqual(
      new Map([
        ["s", 700],
        ["other", 300],
      ]),
    );
    expect((await open(store)).last("t")).toBe(1_000);
  });

  test("keeps apart what was written in turn by many sessions, with what belongs to each message", async () => {
    const store = await newStore();
    const log = await open(store, 10_000);
    const event = (n: number) => ({
      tenant: n % 7 === 0 ? "another" : "t",
      session: `s${n % 5}`,
      message: { params: { n, said: n % 50 === 0 ? "long ".repeat(10_000) : `line\n${n}` } },
      ...(n % 3 === 0 && { except: `c${n % 2}` }),
      ...(n % 11 === 0 && { request: `r${n}` }),
    });
    const all = range(1, 600).map(event);
    for (const one of all) log.append(one);
    await log.flush();
    const read = async (tenant: string, session: string, after = 0): Promise<LoggedEvent[]> => {
      const page = await log.page(tenant, [session], after);
      return page.length === 0
        ? []
        : [...page, ...(await read(tenant, session, page.at(-1)?.order ?? after))];
    };
    for (const tenant of ["t", "another"]) {
      const own = all.filter((one) => one.tenant === tenant);
      for (const session of ["s0", "s1", "s2", "s3", "s4"]) {
        const events = (await read(tenant, session)).map(({ epoch: _, at: __, text: ___, ...rest }) => rest);
        const expected = own.flatMap((one, at) =>
          one.session === session ? [{ ...one, order: at + 1 }] : [],
        );
        expect(events).toEqual(expected);
      }
    }
    await log.prune(1);
    expect(await read("t", "s1")).toEqual([]);
    expect(await log.counts("t", ["s1"])).toEqual(new Map());
  });

  test("goes on after a restart, and tells what is too old to be kept", async () => {
    const store = await newStore();
    const before = await open(store);
    for (let n = 1; n <= 20; n += 1) {
      await before.append(message(n));
      // Each is forgotten for itself; those that are written together are forgotten together.
      await before.flush();
    }
    const after = await open(store);
    await after.append(message(21));
    const back = following(after, { epoch: before.epoch, order: 18 });
    await expect.poll(() => back.numbers()).toEqual([19, 20, 21]);
    await after.flush();
    await after.prune(0);
    expect((await after.page("t", ["s"], 0)).length).toBe(21);
    expect(await store.commit([change(logTables, "prune", { before: 1, limit: 16 })])).toEqual([16]);
    const late = following(after, { epoch: before.epoch, order: 3 });
    await expect.poll(() => late.numbers()).toEqual(range(17, 21));
    expect(late.gaps).toEqual([["s", { after: 3, until: 16, reason: "retention" }]]);
    const early = following(after, { epoch: after.epoch, order: 2 });
    await expect.poll(() => early.numbers()).toEqual(range(17, 21));
    expect(early.gaps).toEqual([["s", { after: 2, until: 16, reason: "retention" }]]);
    await after.prune(1);
    await after.append(message(22));
    await after.flush();
    expect((await after.page("t", ["s"], 0)).map(({ order }) => order)).toEqual([22]);
    const last = following(after, { epoch: before.epoch, order: 20 });
    await expect.poll(() => last.numbers()).toEqual([22]);
    expect(last.gaps).toEqual([["s", { after: 20, until: 21, reason: "retention" }]]);
  });

  test("keeps no account of the names that come and go with connections, and still goes on at its place", async () => {
    const store = await newStore();
    const log = await open(store);
    const names = ["s", "connection:1", "connection:1:s", "turns:s"];
    for (const [index, name] of names.entries()) await log.append(message(index, name));
    await log.flush();
    await log.prune(1);
    const pruned = await Promise.all(names.map((name) => log.prunedUntil("t", name)));
    expect(pruned).toEqual([1, 0, 0, 0]);
    const after = await open(store);
    expect(after.last("t")).toBe(4);
    await after.append(message(4));
    const { numbers, gaps } = following(after, { epoch: log.epoch, order: 4 });
    await expect.poll(numbers).toEqual([4]);
    expect(gaps).toEqual([]);
  });

  test("reports to a reader what it saw before a power cut lost it", async () => {
    const store = await newStore();
    const before = await open(store);
    for (let n = 1; n <= 5; n += 1) await before.append(message(n));
    await before.flush();
    const after = await open(store);
    await after.append(message(6));
    const back = following(after, { epoch: before.epoch, order: 9 });
    await expect.poll(() => back.numbers()).toEqual([6]);
    expect(back.gaps).toEqual([["s", { after: 5, until: 9, reason: "lost" }]]);
  });

  test("keeps tenants apart", async () => {
    const log = await open(await newStore());
    const ours = following(log, START(log));
    await log.append(message(1, "s", "another"));
    await log.append(message(2));
    await expect.poll(() => ours.numbers()).toEqual([2]);
    expect(ours.seen[0]?.order).toBe(1);
  });

  test("keeps a message at its position, though its writer died before the store had it", async () => {
    const store = await newStore();
    const journal = await mkdtemp(join(tmpdir(), "log-journal-"));
    onTestFinished(() => rm(journal, { recursive: true, force: true }));
    let isDead = false;
    const dying: Pick<Store, "commit" | "query"> = {
      query: store.query.bind(store),
      commit: (...asked) => (isDead ? new Promise(() => undefined) : store.commit(...asked)),
    };
    const before = await EventLog.open({ store: dying, now: () => 0, journal });
    const told = following(before, START(before));
    await before.append(message(1));
    await before.flush();
    isDead = true;
    for (let n = 2; n <= 5; n += 1) await before.append(message(n));
    await before.written();
    expect(told.numbers()).toEqual(range(1, 5));
    const after = await EventLog.open({ store, now: () => 0, journal });
    await after.append(message(6));
    const back = following(after, { epoch: before.epoch, order: 3 });
    await expect.poll(() => back.numbers()).toEqual([4, 5, 6]);
    expect(back.gaps).toEqual([]);
    const kept = (await after.page("t", ["s"], 0)).map(({ order, epoch }) => [order, epoch]);
    expect(kept).toEqual([...range(1, 5).map((n) => [n, before.epoch]), [6, after.epoch]]);
    await after.close();
  });

  test("has no gap and repeats nothing where another node takes over, whichever of them began first", async () => {
    const store = await newStore();
    const [one, two] = [
      await EventLog.open({ store, now: () => 0 }),
      await EventLog.open({ store, now: () => 0 }),
    ];
    await two.adopt("t");
    for (let n = 1; n <= 3; n += 1) await two.append(message(n));
    await two.flush();
    two.release("t");
    // One that writes nothing before the tenant moves on.
    await one.adopt("t");
    const seen = await one.end("t");
    one.release("t");
    await two.adopt("t");
    const back = following(two, seen);
    await two.append(message(4));
    await expect.poll(() => back.numbers()).toEqual([4]);
    expect(back.gaps).toEqual([]);
    await one.close();
    await two.close();
  });

  test("flushes what it holds when the store is read, and hurries for subscribers", async () => {
    const store = await newStore();
    const journal = await mkdtemp(join(tmpdir(), "log-journal-"));
    onTestFinished(() => rm(journal, { recursive: true, force: true }));
    const log = await EventLog.open({ store, now: () => 0, journal });
    const everything = { tenant: "t", sessions: ["s", "other"], after: 0, limit: 100, size: 10_000 };
    const stored = async () => {
      await settled(store);
      return (await store.query(logTables, "written", everything)).map(({ order }) => order);
    };
    await log.append(message(1));
    await log.append(message(2), { relaxed: true });
    expect(await stored()).toEqual([1, 2]);
    const { numbers } = following(log, await log.end("t"), { sessions: ["other"] });
    await log.append(message(3), { relaxed: true });
    await log.append(message(4, "other"), { relaxed: true });
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(numbers()).toEqual([4]);
    expect(await stored()).toEqual([1, 2, 3, 4]);
    await log.append(message(5), { relaxed: true });
    await log.written();
    expect(await log.counts("t", ["s"])).toEqual(new Map([["s", 4]]));
    await log.close();
    expect(await stored()).toEqual([1, 2, 3, 4, 5]);
  });

  test("loses no message in the moment in which a reader has caught up", async () => {
    const store = await newStore();
    const journal = await mkdtemp(join(tmpdir(), "log-journal-"));
    onTestFinished(() => rm(journal, { recursive: true, force: true }));
    let caughtUp: () => void = () => undefined;
    const watched: Pick<Store, "commit" | "query"> = {
      commit: store.commit.bind(store),
      query: async (tables, name, args) => {
        const found = await store.query(tables, name, args);
        if (Array.isArray(found) && found.length === 0) caughtUp();
        return found;
      },
    };
    const log = await EventLog.open({ store: watched, now: () => 0, journal });
    await log.append(message(0));
    await log.flush();
    for (let steps = 0; steps < 30; steps += 1) {
      const told = Promise.withResolvers<void>();
      caughtUp = async () => {
        caughtUp = () => undefined;
        for (let step = 0; step < steps; step += 1) await undefined;
        void log.append(message(steps + 1));
        await log.written();
        told.resolve();
      };
      const late = following(log, START(log));
      await told.promise;
      await expect.poll(() => late.numbers()).toEqual(range(0, steps + 1));
      late.subscription.close();
    }
    await log.close();
  });

  test("makes writers wait when too much waits to be written, and says when nothing can be", async () => {
    const store = await newStore();
    const log = await open(store);
    const follower = following(log, START(log));
    const promises = range(1, 100).map((n) => log.append(message(n)));
    expect(promises.some((promise) => promise !== undefined)).toBe(true);
    await log.flush();
    await store.close();
    await expect(async () => {
      log.append(message(101));
      await log.flush();
    }).rejects.toThrow();
    await expect(log.append(message(102))).rejects.toThrow();
    expect(follower.failures).toHaveLength(1);
    const unheeded: unknown[] = [];
    const heed = (reason: unknown) => void unheeded.push(reason);
    process.on("unhandledRejection", heed);
    onTestFinished(() => void process.off("unhandledRejection", heed));
    void log.append(message(103));
    await new Promise((resolve) => setImmediate(resolve));
    expect(unheeded).toEqual([]);
  });
});

test("the database gives room back when messages are too old to be kept", { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "log-"));
  const path = join(folder, "reins.db");
  const store = await openSqlite({ path, tables: [logTables] });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  const log = await EventLog.open({ store, now: () => 1, journal: folder });
  for (let n = 0; n < 3_000; n += 1)
    await log.append({
      ...message(n),
      message: { method: "x", params: { text: randomBytes(3_000).toString("hex") } },
    });
  await log.flush();
  await expect.poll(async () => (await stat(path)).size).toBeGreaterThan(8_000_000);
  await log.prune(2);
  await expect.poll(async () => (await stat(path)).size).toBeLessThan(6_000_000);
  await log.close();
});

test("messages wait while there is no room for them in the journal, and lose neither place nor order", async () => {
  const folder = await mkdtemp(join(tmpdir(), "log-"));
  const store = await newStore();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const told: boolean[] = [];
  const log = await EventLog.open({
    store,
    now: () => 0,
    journal: folder,
    onFull: (isFull) => void told.push(isFull),
  });
  const { numbers, failures } = following(log, { epoch: log.epoch, order: 0 });
  await log.append(message(0));
  await log.written();
  const full = vi.spyOn(Journal.prototype, "add").mockImplementation(() => {
    throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  });
  for (let n = 1; n < 6; n += 1) log.append(message(n));
  await expect.poll(() => told).toEqual([true]);
  for (let n = 6; n < 9; n += 1) log.append(message(n));
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(numbers()).toEqual([0]);
  full.mockRestore();
  await log.written();
  expect(numbers()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect([told, failures, log.last("t")]).toEqual([[true, false], [], 9]);
  await log.close();
});

test("messages wait while there is no room for them in the store, and are stored in their order", async () => {
  const folder = await mkdtemp(join(tmpdir(), "log-"));
  const inner = await newStore();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let isFull = false;
  const commit: Store["commit"] = (changes, options) =>
    isFull && changes.length > 0
      ? Promise.reject(new StoreError("full", "the disk is full"))
      : inner.commit(changes, options);
  const store = { commit, query: inner.query.bind(inner) };
  const log = await EventLog.open({ store, now: () => 0, journal: folder });
  const { numbers, failures } = following(log, { epoch: log.epoch, order: 0 });
  isFull = true;
  for (let n = 0; n < 40; n += 1) {
    log.append(message(n));
    await log.written();
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  isFull = false;
  await log.flush();
  expect([numbers().length, failures]).toEqual([40, []]);
  expect((await log.page("t", ["s"], 0)).map(({ order }) => order)).toEqual(
    Array.from({ length: 40 }, (_, n) => n + 1),
  );
  await log.close();
});
