import { expect, test } from "vitest";
import { type ScriptedProcess, ScriptedTable } from "../../test/scripted-table.ts";
import { type Mark, markOf, ownerPrefix } from "./mark.ts";
import type { ProcessEntry } from "./process-table.ts";
import { Family, sweep, sweepStrays } from "./sweep.ts";

const ours = { text: "ours" };
const isOurs = (entry: ProcessEntry) => entry.marks().text === "ours";
const marked = (pid: number, more: Partial<ScriptedProcess> = {}) => ({ pid, marks: ours, ...more });

test("whoever belongs is killed, and nobody else", async () => {
  const table = new ScriptedTable([marked(10), { pid: 11 }, marked(12)]);
  const { gone, left } = await sweep(table, isOurs);
  expect(gone).toEqual([
    { pid: 10, command: "process 10" },
    { pid: 12, command: "process 12" },
  ]);
  expect(left).toEqual([]);
  expect(table.alive).toEqual([11]);
});

test("who is born while others die is found too", async () => {
  let born = 20;
  const respawning = (pid: number): ScriptedProcess =>
    marked(pid, {
      on: (_, table) => {
        born += 1;
        if (born < 25) table.start(respawning(born));
        return "dies";
      },
    });
  const table = new ScriptedTable([respawning(20)]);
  const { gone, left } = await sweep(table, isOurs);
  expect(table.alive).toEqual([]);
  expect(gone.map(({ pid }) => pid)).toEqual([20, 21, 22, 23, 24]);
  expect(left).toEqual([]);
});

test("who cannot be killed is told as left", async () => {
  const table = new ScriptedTable([
    marked(10),
    marked(11, { on: () => "is not ours" }),
    marked(12, { on: () => "lives" }),
  ]);
  const { gone, left } = await sweep(table, isOurs);
  expect(gone.map(({ pid }) => pid)).toEqual([10]);
  expect(left.map(({ pid }) => pid)).toEqual([11, 12]);
  expect(table.alive).toEqual([11, 12]);
});

test("a new process with the number of a dead one is not taken for it", async () => {
  const table = new ScriptedTable([
    marked(10, {
      on: (_, there) => {
        queueMicrotask(() => there.start({ pid: 10, started: 999 }));
        return "dies";
      },
    }),
  ]);
  const { gone, left } = await sweep(table, isOurs);
  expect(gone.map(({ pid }) => pid)).toEqual([10]);
  expect(left).toEqual([]);
  expect(table.alive).toEqual([10]);
});

test("our own group is not killed for somebody in it", async () => {
  const table = new ScriptedTable([{ pid: process.pid, group: 5 }, marked(10, { group: 5 })]);
  await sweep(table, isOurs);
  expect(table.alive).toEqual([process.pid]);
  expect(table.signals).not.toContain("SIGKILL -5");
});

const mark = { text: "home.1.a", brand: "123450000001000001" };
const relatives = () =>
  new ScriptedTable([
    { pid: 10, group: 10 },
    { pid: 11, group: 10, parent: 10 },
    { pid: 12, parent: 11 },
    { pid: 13, marks: { brand: mark.brand } },
    { pid: 14, marks: { text: mark.text } },
    { pid: 15, marks: { text: "home.1.b" } },
  ]);

test("group, descendants and marked strays are one family", async () => {
  const table = relatives();
  const { gone } = await new Family(10, mark, table, false).end();
  expect(gone.map(({ pid }) => pid)).toEqual([10, 11, 12, 13, 14]);
  expect(table.alive).toEqual([15]);
});

test("everyone is asked to end once", async () => {
  const table = relatives();
  await new Family(10, mark, table, false).terminate();
  expect(table.signals).toEqual(["SIGTERM -10", "SIGTERM 13", "SIGTERM 14"]);
  expect(table.alive).toEqual([12, 15]);
});

test("a sandbox is not asked to end, which would end all in it at once, but those in it are", async () => {
  const table = new ScriptedTable([
    { pid: 10, group: 10 },
    { pid: 11, group: 10, parent: 10 },
    { pid: 12, parent: 11 },
  ]);
  await new Family(10, mark, table, true).terminate();
  expect(table.signals).toEqual(["SIGTERM 11", "SIGTERM 12"]);
});

test("a report names those who were there before, too", async () => {
  const table = relatives();
  const family = new Family(10, mark, table, false);
  await family.look();
  table.signal(13, "SIGKILL");
  const { gone } = await family.end();
  expect(gone.map(({ pid }) => pid)).toContain(13);
});

const HOME = "/var/lib/reins";
const markFrom = (owner: number, home = HOME): Mark => markOf(ownerPrefix(home, owner), "a1", 1);

test("what an owner that died left behind is ended, whichever half of its mark is left", async () => {
  const { text, brand } = markFrom(50);
  const table = new ScriptedTable([{ pid: 60, marks: { text } }, { pid: 61, marks: { brand } }, { pid: 62 }]);
  const { gone, left, sight } = await sweepStrays(HOME, table);
  expect(gone.map(({ pid }) => pid)).toEqual([60, 61]);
  expect({ left, sight }).toEqual({ left: [], sight: "marks" });
  expect(table.alive).toEqual([62]);
});

test("the agents of another run that is alive, and those of another home, are left in peace", async () => {
  const table = new ScriptedTable([
    { pid: 50, started: 10 },
    { pid: 60, started: 20, marks: markFrom(50) },
    { pid: 61, started: 20, marks: markFrom(40, "/home/somebody/reins") },
  ]);
  expect((await sweepStrays(HOME, table)).gone).toEqual([]);
  expect(table.alive).toEqual([50, 60, 61]);
});

test("a process that only has the number of a dead owner does not protect what that one left", async () => {
  const table = new ScriptedTable([
    { pid: 50, started: 30 },
    { pid: 60, started: 20, marks: markFrom(50) },
  ]);
  await sweepStrays(HOME, table);
  expect(table.alive).toEqual([50]);
});
