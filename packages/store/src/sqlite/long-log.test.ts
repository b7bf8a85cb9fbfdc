import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { damagedPages, PageSums } from "./page-sums.ts";
import { takeLogOver } from "./shorten-log.ts";
import { openDatabase } from "./sqlite-database.ts";

it("a long log that a killed process left is not taken over behind the back of the sums", async () => {
  const folder = await temporaryFolder();
  const [path, left] = [join(folder, "a.db"), join(folder, "left.db")];
  const database = openDatabase(path, false);
  const sums = new PageSums(path);
  database.exec("CREATE TABLE t (a)");
  const write = (count: number) => {
    for (let row = 0; row < count; row += 1) database.exec("INSERT INTO t VALUES (randomblob(3000))");
  };
  write(10);
  expect(takeLogOver(database, sums)).toBe(true);
  write(1_200);
  for (const suffix of ["", "-wal", ".sums"]) cpSync(`${path}${suffix}`, `${left}${suffix}`);
  expect(damagedPages(left)).toEqual([]);
  const taken = openDatabase(left, false);
  taken.exec("INSERT INTO t VALUES (1)");
  expect(damagedPages(left)).toEqual([]);
  taken.close();
  database.close();
  sums.close();
});
