import { expect, test } from "vitest";
import { ScriptedTable } from "../../test/scripted-table.ts";
import { Family } from "./family.ts";

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
