import { PassThrough } from "node:stream";
import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { CommandLog, type LogEntry, OutputPace } from "./command-log.ts";

const textOf = (entries: Iterable<LogEntry>) =>
  [...entries].map(({ stream, data }) => `${stream}:${Buffer.from(data, "base64").toString()}`);
const write = (log: CommandLog, stream: LogEntry["stream"], text: string) =>
  log.push(stream, Buffer.from(text));
const forever = () => new AbortController().signal;

test("entries are chosen by stream, number and position", () => {
  const log = new CommandLog(10_000);
  write(log, "stdout", "a");
  write(log, "stderr", "b");
  write(log, "pty", "c");
  expect(textOf(log.entries({}))).toEqual(["stdout:a", "stderr:b", "pty:c"]);
  expect(textOf(log.entries({ stream: "combined", tail: 2 }))).toEqual(["stderr:b", "pty:c"]);
  expect(textOf(log.entries({ stream: "stderr" }))).toEqual(["stderr:b"]);
  expect(textOf(log.entries({ since: 2 }))).toEqual(["pty:c"]);
  expect(textOf(log.entries({ since: 2, tail: 3 }))).toEqual(["pty:c"]);
  expect(textOf(log.entries({ stream: "stdout", tail: 1 }))).toEqual(["stdout:a"]);
  expect(textOf(log.entries({ tail: 0 }))).toEqual([]);
});

test("the oldest output is dropped, single bytes count with what holding them costs, and the last piece stays", () => {
  const log = new CommandLog(10_000);
  for (let count = 0; count < 1_000; count += 1) write(log, "stdout", String(count % 10));
  const entries = [...log.entries({})];
  expect(entries.length).toBeLessThan(40);
  expect(entries.at(-1)?.sequence).toBe(1_000);
  expect(log.output(100)).toMatchObject({ stdoutTruncated: true, stderrTruncated: true });
  write(log, "stdout", "x".repeat(50_000));
  expect([...log.entries({})]).toHaveLength(1);
});

test("entries are read one by one: a slow reader gets those of its start alone, and misses what was dropped", () => {
  const log = new CommandLog(10_000);
  for (let count = 1; count <= 10; count += 1) write(log, "stdout", String(count));
  const slow = log.entries({});
  expect(slow.next().value?.sequence).toBe(1);
  for (let count = 11; count <= 40; count += 1) write(log, "stdout", String(count));
  expect([...slow]).toEqual([]);
  expect([...log.entries({})].at(-1)?.sequence).toBe(40);
});

test("output is each stream as text, cut at a number of bytes", () => {
  const log = new CommandLog(10_000);
  write(log, "stdout", "12");
  write(log, "stderr", "err");
  write(log, "stdout", "345");
  expect(log.output(4)).toEqual({
    ...{ stdout: "1234", stderr: "err", stdoutTruncated: true, stderrTruncated: false },
  });
});

test("follow yields what there is, what comes, and ends with the command", async () => {
  const log = new CommandLog(10_000);
  write(log, "stdout", "before");
  write(log, "stdout", "last before");
  const followed = log.follow({ tail: 1 }, forever());
  expect(textOf([(await followed.next()).value])).toEqual(["stdout:last before"]);
  const next = followed.next();
  write(log, "stdout", "after");
  expect(textOf([(await next).value])).toEqual(["stdout:after"]);
  log.end();
  expect((await followed.next()).done).toBe(true);
});

test("follow without what there is begins with what comes, and misses nothing at the end", async () => {
  const log = new CommandLog(10_000);
  write(log, "stdout", "before");
  const followed = log.follow({ tail: 0 }, forever());
  const next = followed.next();
  await Promise.resolve();
  write(log, "stdout", "after");
  expect(textOf([(await next).value])).toEqual(["stdout:after"]);
  write(log, "stdout", "last");
  log.end();
  expect(textOf([(await followed.next()).value])).toEqual(["stdout:last"]);
  expect((await followed.next()).done).toBe(true);
});

test("follow ends when its reader goes", async () => {
  const log = new CommandLog(10_000);
  const gone = new AbortController();
  const next = log.follow({}, gone.signal).next();
  gone.abort();
  expect((await next).done).toBe(true);
});

test("output that is read too fast waits, with that of other commands of its principal, and goes on", () => {
  const clock = new ManualClock("2026-11-18T09:00:00.000Z");
  const pace = new OutputPace(clock);
  const [one, other] = [new PassThrough(), new PassThrough()];
  for (const stream of [one, other]) stream.resume();
  const MEBIBYTE = 1024 * 1024;
  pace.count(one, MEBIBYTE);
  expect(one.isPaused()).toBe(false);
  pace.count(one, 3 * MEBIBYTE);
  pace.count(other, 1);
  expect([one.isPaused(), other.isPaused()]).toEqual([true, true]);
  clock.advance(100);
  expect([one.isPaused(), other.isPaused()]).toEqual([false, false]);
  pace.count(one, 4 * MEBIBYTE - 1);
  expect(one.isPaused()).toBe(false);
  one.destroy();
  pace.count(other, MEBIBYTE);
  clock.advance(100);
  expect(other.isPaused()).toBe(false);
});
