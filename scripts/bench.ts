// npm run bench -- [name ...] [--quick] [--json] [--strict]
import { availableParallelism } from "node:os";
import { benchOptions } from "./bench/arguments.ts";
import type { Bench, BenchContext } from "./bench/bench.ts";
import { type JudgedRow, judge } from "./bench/ratio.ts";
import { benchTable } from "./bench/report.ts";
import { discover, select } from "./discover.ts";
import { runMain } from "./main.ts";
import { root } from "./root.ts";
import { table } from "./table.ts";

/** What one benchmark came to. */
interface Outcome {
  name: string;
  title: string;
  rows: JudgedRow[];
  /** What it showed beside its rows. */
  printed: string[];
  error?: string;
}

await runMain(async () => {
  const { scale, json, strict, filters } = benchOptions(process.argv.slice(2));
  const outcomes: Outcome[] = [];
  for (const bench of select(await discover<Bench>(root, "bench"), filters)) {
    const outcome = await measure(bench, scale);
    outcomes.push(outcome);
    if (!json)
      console.log(
        [
          `${outcome.name}: ${outcome.title}`,
          ...outcome.printed,
          outcome.error ?? benchTable(outcome.rows),
          "",
        ].join("\n\n"),
      );
  }
  if (json) console.log(JSON.stringify({ machine: machine(), scale, benches: outcomes }, undefined, 2));
  else if (outcomes.length === 0) console.log("There are no benchmarks yet.");

  const missed = outcomes.flatMap(({ rows }) => rows).filter(({ held }) => held === false).length;
  if (missed > 0) console.error(`${missed} ${missed === 1 ? "bar was" : "bars were"} missed.`);
  if (outcomes.some(({ error }) => error !== undefined) || (strict && missed > 0)) process.exitCode = 1;
});

async function measure({ name, title, run }: Bench, scale: "quick" | "full"): Promise<Outcome> {
  const printed: string[] = [];
  const print: BenchContext["print"] = (text, shown) =>
    void printed.push(shown ? `${text}\n\n${table(shown.heading, shown.rows, shown.alignments)}` : text);
  try {
    const rows = await run({ scale, print });
    return { name, title, printed, rows: rows.map(judge) };
  } catch (error) {
    return {
      name,
      title,
      printed,
      rows: [],
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}

function machine(): Record<string, string | number> {
  return {
    node: process.version,
    platform: process.platform,
    arch: process.arch,
    cores: availableParallelism(),
  };
}
