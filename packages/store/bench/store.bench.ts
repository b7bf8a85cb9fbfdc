import type { Bench } from "../../../scripts/bench/bench.ts";
import { longestBlock } from "./blocks.ts";
import { opening } from "./opening.ts";
import { oneAlone, rate } from "./rates.ts";

const BAR = { ratio: 0.6, sense: "at least" } as const;

const bench: Bench = {
  name: "store",
  title: "commits of the store beside bare SQLite writing the same rows in this thread",
  async run({ scale }) {
    return [
      await oneAlone(scale),
      await rate(scale, "1 producer, durable", 1, { durable: true }),
      await rate(scale, "64 producers, durable", 64, { durable: true }, BAR),
      await rate(scale, "1,000 producers, durable", 1_000, { durable: true }, BAR),
      await rate(scale, "the same, 1 in 100 refused", 1_000, { durable: true, refuseEvery: 100 }),
      await rate(scale, "64 producers, written only", 64, { durable: false }),
      await rate(scale, "1,000 producers, written only", 1_000, { durable: false }),
      ...(await longestBlock(scale, 64)),
      ...(await longestBlock(scale, 1_000)),
      ...(await opening(scale)),
    ];
  },
};

export default bench;
