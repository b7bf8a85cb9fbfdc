import type { Bench } from "../../../scripts/bench/bench.ts";
import { openHome, withHome } from "./home.ts";
import { verdict } from "./sample.ts";

const PIECE = 1_000;

export default {
  name: "ledger-proof",
  title: "Proofs from, and opening of, a long ledger",
  async run({ scale }) {
    const size = scale === "quick" ? 50_000 : 1_000_000;
    return withHome(async (home) => {
      let quarter = 0;
      for (let from = 0; from < size; from += PIECE * 10) {
        const pieces = Array.from({ length: 10 }, (_, piece) =>
          home.ledger.record(
            Array.from({ length: PIECE }, (_, n) => verdict(piece, from + n)),
            { durable: false },
          ),
        );
        await Promise.all(pieces);
        if (from < size / 4) quarter = process.memoryUsage.rss();
      }
      const grown = (process.memoryUsage.rss() - quarter) / 2 ** 20;
      const checkpoint = await home.ledger.checkpoint();
      const times: number[] = [];
      for (let n = 0; n < 2_000; n += 1) {
        const start = performance.now();
        await home.ledger.inclusion(Math.floor((n / 2_000) * checkpoint.size), checkpoint.size);
        times.push(performance.now() - start);
      }
      times.sort((left, right) => left - right);
      await home.store.close();
      const start = performance.now();
      const again = await openHome(home.path);
      await again.ledger.size();
      const opened = performance.now() - start;
      await again.store.close();
      const about = `at ${checkpoint.size.toLocaleString("en")} entries`;
      return [
        {
          what: `inclusion proof ${about}, p50`,
          value: (times[1_000] ?? 0) * 1_000,
          unit: "µs",
          baseline: { what: "the bar", value: 200 },
          bar: { ratio: 1, sense: "at most" as const },
        },
        {
          what: `opening ${about}`,
          value: opened,
          unit: "ms",
          baseline: { what: "the bar", value: 1_000 },
          bar: { ratio: 1, sense: "at most" as const },
        },
        { what: "memory grown while appending the last three quarters", value: grown, unit: "MiB" },
      ];
    });
  },
} satisfies Bench;
