import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "../src/index.ts";
import { type ProducerOptions, Producers } from "./producers.ts";
import { RawDatabase } from "./raw.ts";
import { rows } from "./rows.ts";

/** Runs with a store and a bare database, each with nothing in it, that are gone afterwards. */
export async function sideBySide(
  options: ProducerOptions,
  run: (producers: Producers, raw: RawDatabase) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "store-bench-"));
  const store = await openSqlite({ path: join(folder, "store.db"), tables: [rows] });
  const raw = new RawDatabase(join(folder, "raw.db"), options.durable);
  try {
    const producers = new Producers(store, options);
    await producers.write(1, 1);
    await run(producers, raw);
  } finally {
    raw.close();
    await store.close();
    await rm(folder, { recursive: true });
  }
}
