import { expect, test } from "vitest";
import { type ScriptedProcess, ScriptedTable } from "../../test/scripted-table.ts";
import { sweep } from "./sweep.ts";
import type { ProcessEntry } from "./table.ts";

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
