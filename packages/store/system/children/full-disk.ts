// Fills a small file system to the brim, makes a little room, and so on.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { change, openSqlite, StoreError } from "../../src/index.ts";
import { say } from "../../test/child.ts";
import { notes } from "../../test/tables/notes.ts";
import { tally } from "../../test/tables/tally.ts";

const [folder = ""] = process.argv.slice(2);
const ballast = [1, 2, 3, 4].map((number) => join(folder, `ballast ${number}`));
for (const path of ballast) await writeFile(path, Buffer.alloc(1_000_000));
const path = join(folder, "reins.db");
const store = await openSqlite({ path, tables: [notes, tally] });

const kept = new Set<string>();
let codes = new Set<string>();
let last = 0;

async function add(): Promise<boolean> {
  last += 1;
  const id = `${last}`;
  const note = change(notes, "add", { id, text: "x".repeat(2_000) });
  try {
    await store.commit([change(tally, "raise", { name: "x", by: 1 }), note]);
    kept.add(id);
    return true;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    codes.add(error.code);
    return false;
  }
}

for (const weight of ballast) {
  codes = new Set();
  for (let failures = 0; failures < 100; ) {
    const added = await Promise.all(Array.from({ length: 20 }, add));
    failures += added.filter((one) => !one).length;
  }
  await rm(weight);
  const resumed = await add();
  const ids = new Set(await store.query(notes, "ids", null));
  const whole = (await store.query(tally, "total", { name: "x" })) === ids.size;
  say({
    codes: [...codes],
    resumed,
    missing: kept.difference(ids).size,
    whole: whole && ids.size === kept.size,
  });
}
await store.close();
