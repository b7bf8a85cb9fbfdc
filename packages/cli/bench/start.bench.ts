import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench, BenchContext, BenchRow } from "../../../scripts/bench/bench.ts";
import { ROOT, type StartTimes, timedStart } from "./started.ts";

/** What a warm `npm start` may take until page and harness answer. */
const WANTED_MS = 700;

const bench: Bench = {
  name: "start",
  title: "How long a warm start takes until the page and the harness answer",
  run,
};
export default bench;

async function run({ scale }: BenchContext): Promise<BenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), "start-bench-"));
  const programs = {
    npm: ["npm", "start", "--silent", "--"],
    bundle: [process.execPath, join(ROOT, "scripts/bootstrap.mjs"), "start"],
    sources: [process.execPath, join(ROOT, "packages/cli/src/main.ts"), "up"],
  };
  const times: Record<keyof typeof programs, StartTimes[]> = { npm: [], bundle: [], sources: [] };
  try {
    // In turn, so that a busy moment of the machine is everybody's; the first of each fills caches.
    for (let round = 0; round <= (scale === "quick" ? 3 : 10); round += 1) {
      for (const name of ["npm", "bundle", "sources"] as const) {
        const taken = await timedStart(programs[name], join(folder, name));
        if (round > 0) times[name].push(taken);
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  const p50 = (name: keyof typeof programs, what: keyof StartTimes) =>
    median(times[name].map((one) => one[what]));
  const wanted = { what: "what is wanted", value: WANTED_MS };
  const sources = { what: "from the sources", value: p50("sources", "harness") };
  return [
    { what: "npm start to the page, p50", value: p50("npm", "page"), unit: "ms" },
    {
      what: "npm start to the harness, p50",
      value: p50("npm", "harness"),
      unit: "ms",
      baseline: wanted,
      bar: { ratio: 1, sense: "at most" },
    },
    {
      what: "the same without npm, p50",
      value: p50("bundle", "harness"),
      unit: "ms",
      baseline: sources,
      bar: { ratio: 0.75, sense: "at most" },
    },
  ];
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
