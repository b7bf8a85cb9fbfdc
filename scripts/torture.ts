// npm run torture -- [name ...] [--seed number] [--small]
import { randomInt } from "node:crypto";
import { discover, select } from "./discover.ts";
import { runMain } from "./main.ts";
import { root } from "./root.ts";
import { replayCommand, tortureOptions } from "./torture/arguments.ts";
import type { Torture } from "./torture/torture.ts";

await runMain(async () => {
  const { seed = randomInt(2 ** 32), scale, filters } = tortureOptions(process.argv.slice(2));
  console.log(`Seed ${seed}, scale ${scale}`);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => stop.abort(new Error(`Stopped by ${signal}.`)));

  const chosen = select(await discover<Torture>(root, "torture"), filters);
  if (chosen.length === 0) console.log("There are no torture runs yet.");
  for (const torture of chosen) {
    if (stop.signal.aborted) break;
    const began = performance.now();
    const seconds = () => `${((performance.now() - began) / 1_000).toFixed(1)} s`;
    console.log(`\n${torture.name}: ${torture.title}`);
    try {
      const log = (message: string) => console.log(`  ${seconds()}  ${message}`);
      await torture.run({ seed, scale, signal: stop.signal, log });
      console.log(`  held, ${seconds()}`);
    } catch (error) {
      if (stop.signal.aborted) break;
      console.log(`  FAILED after ${seconds()}`);
      console.log(error instanceof Error ? error.stack : error);
      console.log(`\nTo repeat it: ${replayCommand(torture.name, seed, scale)}`);
      process.exitCode = 1;
    }
  }
  if (stop.signal.aborted) process.exitCode = 130;
});
