import type { BenchContext, BenchRow } from "../../../scripts/bench/bench.ts";
import { type LongestBlock, watchEventLoop } from "./event-loop.ts";
import { median } from "./median.ts";
import { Producers } from "./producers.ts";
import { sideBySide } from "./side-by-side.ts";
import { standIn } from "./stand-in.ts";

/** In one round; the longest block is that of the middle round, so that one hiccup of the machine does not decide. */
const COMMITS = 5_000;

/** For how long the store keeps the event loop of this thread from turning. */
export async function longestBlock(scale: BenchContext["scale"], count: number): Promise<BenchRow[]> {
  const ours: LongestBlock[] = [];
  const theirs: LongestBlock[] = [];
  const idle = new Producers(standIn(), { durable: true });
  await sideBySide({ durable: true }, async (producers) => {
    await producers.write(COMMITS, count);
    await idle.write(COMMITS, count);
    for (let round = 0; round < (scale === "quick" ? 7 : 15); round += 1) {
      ours.push(await watchEventLoop(() => producers.write(COMMITS, count)));
      theirs.push(await watchEventLoop(() => idle.write(COMMITS, count)));
    }
  });
  const who = `${count.toLocaleString("en")} producers`;
  return [
    {
      what: `longest block of this thread, ${who}`,
      value: median(ours.map(({ worked }) => worked)),
      unit: "ms",
      baseline: { what: "allowed", value: 2 },
      bar: { ratio: 1, sense: "at most" },
    },
    {
      what: `the same with garbage collection, ${who}`,
      value: median(ours.map(({ passed }) => passed)),
      unit: "ms",
      baseline: { what: "without a store", value: median(theirs.map(({ passed }) => passed)) },
    },
  ];
}
