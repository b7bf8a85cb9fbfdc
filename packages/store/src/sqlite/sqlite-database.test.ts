import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../test/temporary-folder.ts";
import { openDatabase } from "./sqlite-database.ts";

describe("a copy of a database that is written to at every turn", () => {
  it.each([
    ["the reader", true],
    ["the writer", false],
  ])("is made by %s without ever beginning anew", async (_, readonly) => {
    const path = join(await temporaryFolder(), "reins.db");
    const writer = openDatabase(path, false);
    writer.exec("CREATE TABLE t (x)");
    const insert = writer.prepare("INSERT INTO t VALUES (?)");
    for (let row = 0; row < 40; row += 1) insert.run("x".repeat(100_000));
    const copying = readonly ? openDatabase(path, true) : writer;
    let writes = 0;
    let done = false;
    const writeOn = () => {
      if (done || writes === 1_000) return;
      insert.run("y");
      writes += 1;
      setImmediate(writeOn);
    };
    writeOn();
    await copying.backup(`${path}.copy`);
    done = true;
    expect(writes).toBeLessThan(1_000);
    const copy = openDatabase(`${path}.copy`, true);
    const rows = copy.prepare("SELECT length(x) AS length FROM t").all();
    expect(rows.slice(0, 40)).toEqual(Array.from({ length: 40 }, () => ({ length: 100_000 })));
    for (const database of new Set([copy, copying, writer])) database.close();
  });
});
