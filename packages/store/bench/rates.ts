import type { BenchContext, BenchRow } from "../../../scripts/bench/bench.ts";
import { median } from "./median.ts";
import type { ProducerOptions } from "./producers.ts";
import { sideBySide } from "./side-by-side.ts";

/** How many rows a second so many producers write, beside bare SQLite with as many rows in each transaction. */
export async function rate(
  scale: BenchContext["scale"],
  what: string,
  count: number,
  options: ProducerOptions,
  bar?: BenchRow["bar"],
): Promise<BenchRow> {
  const [ours, theirs]: [number[], number[]] = [[], []];
  const rounds = scale === "quick" ? 5 : 11;
  const transactions = count === 1 ? 1_000 : Math.max(6, Math.ceil(6_400 / count));
  const written = count * transactions;
  await sideBySide(options, async (producers, raw) => {
    // The first round warms both up.
    for (let round = 0; round <= rounds; round += 1) {
      const began = performance.now();
      await producers.write(written, count);
      const turned = performance.now();
      for (let done = 0; done < transactions; done += 1) raw.write(count);
      const ended = performance.now();
      if (round === 0) continue;
      ours.push((written / (turned - began)) * 1_000);
      theirs.push((written / (ended - turned)) * 1_000);
    }
  });
  const baseline = { what: `transactions of ${count.toLocaleString("en")}`, value: median(theirs) };
  return { what, value: median(ours), unit: "rows/s", baseline, ...(bar && { bar }) };
}

/** How long one durable commit takes without other writers, beside a bare `INSERT` and `COMMIT`. */
export async function oneAlone(scale: BenchContext["scale"]): Promise<BenchRow> {
  const [ours, theirs]: [number[], number[]] = [[], []];
  await sideBySide({ durable: true }, async (producers, raw) => {
    for (let round = 0; round < (scale === "quick" ? 1_000 : 3_000); round += 1) {
      ours.push(await producers.time());
      const began = performance.now();
      raw.write(1);
      theirs.push((performance.now() - began) * 1_000);
    }
  });
  return {
    what: "one durable commit alone, p50",
    value: median(ours),
    unit: "µs",
    baseline: { what: "INSERT and COMMIT", value: median(theirs) },
    bar: { ratio: 2, sense: "at most" },
  };
}
