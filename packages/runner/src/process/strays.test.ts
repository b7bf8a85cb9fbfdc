import { expect, test } from "vitest";
import { ScriptedTable } from "../../test/scripted-table.ts";
import { type Mark, markOf, ownerPrefix } from "./mark.ts";
import { sweepStrays } from "./strays.ts";

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
