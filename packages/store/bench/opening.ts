import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { BenchContext, BenchRow } from "../../../scripts/bench/bench.ts";
import { openSqlite } from "../src/index.ts";
import { median } from "./median.ts";
import { rows } from "./rows.ts";

/** How long a store takes to open, and to answer its first query, beside the start of a thread that does nothing. */
export async function opening(scale: BenchContext["scale"]): Promise<BenchRow[]> {
  const [opened, answered, started]: [number[], number[], number[]] = [[], [], []];
  const folder = await mkdtemp(join(tmpdir(), "store-bench-"));
  for (let round = 0; round < (scale === "quick" ? 5 : 15); round += 1) {
    const began = performance.now();
    const store = await openSqlite({ path: join(folder, "store.db"), tables: [rows] });
    opened.push(performance.now() - began);
    await store.query(rows, "count", null);
    answered.push(performance.now() - began);
    await store.close();
    started.push(await startThread());
  }
  await rm(folder, { recursive: true });
  const baseline = { what: "an empty thread", value: median(started) };
  return [
    { what: "opening, p50", value: median(opened), unit: "ms", baseline },
    { what: "opening to first answer, p50", value: median(answered), unit: "ms", baseline },
  ];
}

async function startThread(): Promise<number> {
  const began = performance.now();
  const worker = new Worker("", { eval: true });
  await new Promise((resolve) => worker.once("online", resolve));
  const taken = performance.now() - began;
  await worker.terminate();
  return taken;
}
