import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { blake3Hex } from "../src/canonical.ts";
import type { Ledger } from "../src/ledger.ts";
import { type Home, withHome } from "./home.ts";
import { RawSqlite, type Row } from "./raw-sqlite.ts";
import { verdict } from "./sample.ts";

/** Appends from many producers at once, each waiting for its entry to be on disk before it makes the next. */
export async function appendAll(ledger: Ledger, producers: number, count: number): Promise<number> {
  let next = 0;
  const start = performance.now();
  const produce = async (producer: number) => {
    while (next < count) {
      next += 1;
      await ledger.record([verdict(producer, next)]);
    }
  };
  await Promise.all(Array.from({ length: producers }, (_, producer) => produce(producer)));
  return count / ((performance.now() - start) / 1_000);
}

/** The same rows straight into SQLite, in transactions as large as there are producers. */
function writeAll(raw: RawSqlite, rows: readonly Row[], size: number): number {
  const start = performance.now();
  for (let from = 0; from < rows.length; from += size) raw.write(rows.slice(from, from + size));
  return rows.length / ((performance.now() - start) / 1_000);
}

export async function rowsOf({ ledger }: Home, count: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after = -1; rows.length < count; ) {
    const page = await ledger.readStored({ after, quality: "policy_verdict", limit: 10_000 });
    for (const { seq, cid, body } of page) {
      rows.push({
        cid: `${rows.length.toString(16).padStart(8, "0")}${cid.slice(8)}`,
        body,
        entry: JSON.parse(body),
      });
      after = seq;
    }
    if (page.length === 0) break;
  }
  return rows.slice(0, count);
}

export const median = (values: number[]) =>
  values.sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;

async function throughput(producers: number, count: number, rounds: number): Promise<BenchRow> {
  return withHome(async (home) => {
    const raw = new RawSqlite(join(home.path, "raw.db"));
    const [ours, theirs]: [number[], number[]] = [[], []];
    // Both begin with the same number of rows, because inserting into a larger index takes longer.
    await appendAll(home.ledger, producers, count);
    writeAll(raw, await rowsOf(home, count), producers);
    for (let round = 0; round < rounds; round += 1) {
      // The same rows again need other names, as unlike each other as content ids are.
      const rows = (await rowsOf(home, count)).map((row) => ({
        ...row,
        cid: blake3Hex(`${round}${row.cid}`),
      }));
      theirs.push(writeAll(raw, rows, producers));
      ours.push(await appendAll(home.ledger, producers, count));
    }
    raw.close();
    return {
      what: `durable appends, ${producers} producers`,
      value: median(ours),
      unit: "entries/s",
      baseline: { what: "raw SQLite, same rows and indexes", value: median(theirs) },
      bar: { ratio: 0.6, sense: "at least" },
    };
  });
}

async function single(count: number): Promise<BenchRow[]> {
  return withHome(async (home) => {
    const raw = new RawSqlite(join(home.path, "raw.db"));
    await appendAll(home.ledger, 1, count);
    const rows = await rowsOf(home, count);
    const [ours, theirs]: [number[], number[]] = [[], []];
    for (const [n, row] of rows.entries()) {
      const start = performance.now();
      raw.write([row]);
      const middle = performance.now();
      await home.ledger.record([verdict(0, n)]);
      theirs.push(middle - start);
      ours.push(performance.now() - middle);
    }
    raw.close();
    return [
      {
        what: "one durable append alone, p50",
        value: median(ours) * 1_000,
        unit: "µs",
        baseline: { what: "bare INSERT and COMMIT", value: median(theirs) * 1_000 },
        bar: { ratio: 2, sense: "at most" },
      },
    ];
  });
}

/** How long the main thread is kept from other work while 64 producers append. */
async function blocking(count: number): Promise<BenchRow> {
  return withHome(async ({ ledger }) => {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    await appendAll(ledger, 64, count / 4);
    delay.enable();
    await appendAll(ledger, 64, count);
    delay.disable();
    return { what: "event loop delay while appending, p99", value: delay.percentile(99) / 1e6, unit: "ms" };
  });
}

export default {
  name: "ledger-append",
  title: "Durable appends with group commit, all indexes and the tree, beside raw SQLite",
  async run({ scale }) {
    const count = scale === "quick" ? 5_000 : 30_000;
    const rounds = scale === "quick" ? 1 : 3;
    return [
      await throughput(64, count, rounds),
      await throughput(1_000, count, rounds),
      ...(await single(scale === "quick" ? 300 : 2_000)),
      await blocking(count),
    ];
  },
} satisfies Bench;
