import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { change, openSqlite, type Store } from "@reins/store";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Cursor, Gap, LoggedEvent } from "../src/log/logged-event.ts";
import { SessionLog } from "../src/log/session-log.ts";
import { logTables } from "../src/log/tables.ts";

async function newStore(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), "log-"));
  const store = await openSqlite({ path: join(folder, "reins.db"), tables: [logTables] });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return store;
}

const limits = { messages: 10, size: 10_000, waiting: 4_000 };

const open = (store: Store, epoch = 1) =>
  SessionLog.open({ store, session: "s", epoch, now: () => 0, limits });

const message = (n: number) => ({ method: "session/update", params: { n } });

/** Reads a log into lists, until it has seen so many messages. */
function reading(
  log: SessionLog,
  from: Cursor | undefined,
  pace: () => Promise<void> = async () => undefined,
) {
  const seen: LoggedEvent[] = [];
  const gaps: Gap[] = [];
  const stop = log.read(from, {
    event: async (event) => {
      await pace();
      seen.push(event);
    },
    gap: (gap) => void gaps.push(gap),
    failed: (error) => {
      throw error;
    },
  });
  onTestFinished(stop);
  return { seen, gaps, stop, numbers: () => seen.map(({ seq }) => seq) };
}

const range = (from: number, until: number) => Array.from({ length: until - from + 1 }, (_, n) => from + n);

describe("a session's log", () => {
  test("gives every reader every message once, in order, wherever it begins", async () => {
    const log = await open(await newStore());
    for (let n = 1; n <= 50; n += 1) await log.append(message(n));
    const [first, late] = [reading(log, undefined), reading(log, { epoch: 1, seq: 45 })];
    for (let n = 51; n <= 100; n += 1) {
      await log.append(message(n));
      if (n % 7 === 0) await new Promise(setImmediate);
    }
    await expect.poll(() => [first.seen.length, late.seen.length]).toEqual([100, 55]);
    expect(first.numbers()).toEqual(range(1, 100));
    expect(late.numbers()).toEqual(range(46, 100));
    expect(first.seen[99]?.message).toEqual(message(100));
    expect([...first.gaps, ...late.gaps]).toEqual([]);
  });

  test("is written before anybody gets it", async () => {
    const store = await newStore();
    const log = await open(store);
    const reader = reading(log, undefined);
    await log.append(message(1));
    await expect.poll(() => reader.seen.length).toBe(1);
    expect(
      await store.query(logTables, "after", { session: "s", seq: 0, limit: 10, bytes: 1_000 }),
    ).toHaveLength(1);
  });

  test("lets a reader that stops continue from the disk, at no cost to the others", async () => {
    const log = await open(await newStore());
    const held = Promise.withResolvers<void>();
    const slow = reading(log, undefined, () => held.promise);
    const fast = reading(log, undefined);
    for (let n = 1; n <= 500; n += 1) await log.append(message(n));
    await expect.poll(() => fast.seen.length).toBe(500);
    expect(slow.seen).toEqual([]);
    held.resolve();
    await expect.poll(() => slow.seen.length).toBe(500);
    expect(slow.numbers()).toEqual(range(1, 500));
  });

  test("goes on after a restart, and tells what is too old to be kept", async () => {
    const store = await newStore();
    const before = await open(store);
    for (let n = 1; n <= 20; n += 1) await before.append(message(n));
    await before.flush();
    const after = await open(store, 2);
    await after.append(message(21));
    const reader = reading(after, { epoch: 1, seq: 18 });
    await expect.poll(() => reader.numbers()).toEqual([19, 20, 21]);
    expect(reader.seen.map(({ epoch }) => epoch)).toEqual([1, 1, 2]);
    await store.commit([change(logTables, "prune", { before: 0, keep: 5 })]);
    const late = reading(after, { epoch: 1, seq: 3 });
    await expect.poll(() => late.numbers()).toEqual(range(17, 21));
    expect(late.gaps).toEqual([{ after: 3, until: 16, reason: "retention" }]);
  });

  test("tells a reader what it saw before a power cut that took it away", async () => {
    const store = await newStore();
    const before = await open(store);
    for (let n = 1; n <= 5; n += 1) await before.append(message(n));
    await before.flush();
    const after = await open(store, 2);
    await after.append(message(6));
    const reader = reading(after, { epoch: 1, seq: 9 });
    await expect.poll(() => reader.seen.length).toBe(1);
    expect(reader.gaps).toEqual([{ after: 5, until: 9, reason: "lost" }]);
    expect(reader.numbers()).toEqual([6]);
  });

  test("makes whoever appends wait when too much waits to be written, and says when nothing can be", async () => {
    const store = await newStore();
    const log = await open(store);
    const promises = range(1, 100).map((n) =>
      log.append({ method: "m", params: { text: "x".repeat(100), n } }),
    );
    expect(promises.some((promise) => promise !== undefined)).toBe(true);
    await log.flush();
    await store.close();
    await expect(async () => {
      log.append(message(101));
      await log.flush();
    }).rejects.toThrow();
    await expect(log.append(message(102))).rejects.toThrow();
  });
});
