import { partsOf } from "../src/sqlite/open.ts";
import { loadModules, Opened } from "../src/sqlite/opened.ts";
import type { Change } from "../src/store.ts";
import type { Faults } from "./faults.ts";
import { notes } from "./tables/notes.ts";
import { tally } from "./tables/tally.ts";

/** The writer's end of a store without its thread, so that a test can open one after the other quickly. */
export async function openInProcess(path: string, faults?: Faults): Promise<Opened> {
  const data = {
    path,
    role: "writer",
    tables: partsOf([notes, tally]),
    maxBatch: 100,
    wrap: faults?.wrap,
  } as const;
  return Opened.open(data, await loadModules(data));
}

/** A durable commit of some changes. */
export function write(...changes: readonly Change<unknown>[]) {
  return { changes, durable: true };
}
