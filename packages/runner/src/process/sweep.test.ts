import { expect, test } from "vitest";
import { type ScriptedProcess, ScriptedTable } from "../../test/scripted-table.ts";
import { type Mark, markOf, ownerPrefix, type ProcessEntry } from "./process-table.ts";
import { Family, sweep, sweepStrays } from "./sweep.ts";

const ours = { text: "ours" };
const isOurs = (entry: ProcessEntry) => entry.marks().text === "ours";
const marked = (pid: number, more: Partial<ScriptedProcess> = {}) => ({ pid, marks: ours, ...more });

test("kills every process that belongs, and no other", async () => {
  const table = new ScriptedTable([marked(10), { pid: 11 }, marked(12)]);
  const { gone, left } = await sweep(table, isOurs);
  expect(gone).toEqual([
    { pid: 10, command: "process 10" },
    { pid: 12, command: "process 12" },
  ]);
  expect(left).toEqual([]);
  expect(table.alive).toEqual([11]);
});

test("kills processes that start during a sweep", async () => {
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

test("reports a process that cannot be killed as left", async () => {
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

test("does not take a process with a reused pid for the dead one", async () => {
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

test("does not kill its own group because of a member", async () => {
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

test("includes group, descendants and marked strays in a family", async () => {
  const table = relatives();
  const { gone } = await new Family(10, mark, table, false).end();
  expect(gone.map(({ pid }) => pid)).toEqual([10, 11, 12, 13, 14]);
  expect(table.alive).toEqual([15]);
});

test("sends SIGTERM to each process once", async () => {
  const table = relatives();
  await new Family(10, mark, table, false).terminate();
  expect(table.signals).toEqual(["SIGTERM -10", "SIGTERM 13", "SIGTERM 14"]);
  expect(table.alive).toEqual([12, 15]);
});

test("sends SIGTERM to the processes in a sandbox, and not to the sandbox", async () => {
  const table = new ScriptedTable([
    { pid: 10, group: 10 },
    { pid: 11, group: 10, parent: 10 },
    { pid: 12, parent: 11 },
  ]);
  await new Family(10, mark, table, true).terminate();
  expect(table.signals).toEqual(["SIGTERM 11", "SIGTERM 12"]);
});

test("reports processes that were seen before the sweep", async () => {
  const table = relatives();
  const family = new Family(10, mark, table, false);
  await family.look();
  table.signal(13, "SIGKILL");
  const { gone } = await family.end();
  expect(gone.map(({ pid }) => pid)).toContain(13);
});

const HOME = "/var/lib/reins";
const markFrom = (owner: number, home = HOME): Mark => markOf(ownerPrefix(home, owner), "a1", 1);

test("kills what a dead owner left behind, by either half of its mark", async () => {
  const { text, brand } = markFrom(50);
  const table = new ScriptedTable([{ pid: 60, marks: { text } }, { pid: 61, marks: { brand } }, { pid: 62 }]);
  const { gone, left, visibility } = await sweepStrays(HOME, table);
  expect(gone.map(({ pid }) => pid)).toEqual([60, 61]);
  expect({ left, visibility }).toEqual({ left: [], visibility: "marks" });
  expect(table.alive).toEqual([62]);
});

test("spares agents of another live run and of another home", async () => {
  const table = new ScriptedTable([
    { pid: 50, started: 10 },
    { pid: 60, started: 20, marks: markFrom(50) },
    { pid: 61, started: 20, marks: markFrom(40, "/home/other/reins") },
  ]);
  expect((await sweepStrays(HOME, table)).gone).toEqual([]);
  expect(table.alive).toEqual([50, 60, 61]);
});

test("kills strays whose owner's pid was reused", async () => {
  const table = new ScriptedTable([
    { pid: 50, started: 30 },
    { pid: 60, started: 20, marks: markFrom(50) },
  ]);
  await sweepStrays(HOME, table);
  expect(table.alive).toEqual([50]);
});
