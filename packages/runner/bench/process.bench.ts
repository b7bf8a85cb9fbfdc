import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { bare, type Contestant, governed } from "./process/contestant.ts";

const BURST = 5_000;
const ROUNDS = { quick: 10, full: 60 };
const TRIPS = 200;
/** Rounds that do not count. */
const WARM_UP = 5;

const bench: Bench = {
  name: "agent-process",
  title: "A burst of updates, and round trips, through an agent's process beside readline and JSON.parse",
  async run({ scale }) {
    const contestants = {
      lines: bare(false),
      loop: bare(true),
      plain: await governed(false),
      awaited: await governed(true),
    };
    const all = Object.values(contestants);
    const bursts = new Map(all.map((one) => [one, [] as number[]]));
    const trips = new Map(all.map((one) => [one, [] as number[]]));
    try {
      for (let round = -WARM_UP; round < ROUNDS[scale]; round += 1) {
        for (const one of round % 2 === 0 ? all : all.toReversed()) {
          const rate = await burst(one);
          const trip = await roundTrips(one);
          if (round < 0) continue;
          bursts.get(one)?.push(rate);
          trips.get(one)?.push(...trip);
        }
      }
    } finally {
      for (const one of all) await one.close();
    }
    const rate = (one: Contestant) => median(bursts.get(one) ?? []);
    const trip = (one: Contestant) => median(trips.get(one) ?? []);
    const { lines, loop, plain, awaited } = contestants;
    return [
      atLeast(`${BURST} updates`, rate(plain), { what: "readline and JSON.parse", value: rate(lines) }),
      atLeast(`${BURST} updates, each awaited`, rate(awaited), {
        what: "for await, readline and JSON.parse",
        value: rate(loop),
      }),
      {
        what: "round trip, p50",
        value: trip(plain),
        unit: "µs",
        baseline: { what: "readline and JSON.parse", value: trip(lines) },
        bar: { ratio: 1.5, sense: "at most" },
      },
    ];
  },
};

export default bench;

function atLeast(what: string, value: number, baseline: { what: string; value: number }): BenchRow {
  return { what, value, unit: "/s", baseline, bar: { ratio: 0.8, sense: "at least" } };
}

/** Messages per second, from asking for the burst to the last of it. */
async function burst(one: Contestant): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = BURST;
  one.take(() => {
    left -= 1;
    if (left === 0) resolve();
  });
  const start = performance.now();
  one.send({ burst: BURST });
  await promise;
  return (BURST / (performance.now() - start)) * 1_000;
}

/** The microseconds of each of some questions and answers. */
async function roundTrips(one: Contestant): Promise<number[]> {
  const taken: number[] = [];
  for (let trip = 0; trip < TRIPS; trip += 1) {
    const { promise, resolve } = Promise.withResolvers<void>();
    one.take(resolve);
    const start = performance.now();
    one.send({ ask: trip });
    await promise;
    taken.push((performance.now() - start) * 1_000);
  }
  return taken;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
