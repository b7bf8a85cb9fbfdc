import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./scripts/test/durations.ts";

/** How many system test files run at once: one more than there are cores, because a third of their time they wait. */
const systemWorkers = Number(process.env.REINS_TEST_WORKERS) || Math.min(2, availableParallelism()) + 1;

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["packages/*/{src,generate}/**/*.test.ts", "scripts/**/*.test.ts"],
          // Modules are loaded once per worker instead of once per file. Unit tests own what they change.
          isolate: false,
          // Vitest leaves one core free by default: half of a machine with two.
          maxWorkers: availableParallelism(),
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "system",
          include: ["packages/*/system/**/*.test.ts", "examples/**/*.test.ts"],
          // Real sockets, processes and databases: few files at a time, with time to spare on a busy machine.
          maxWorkers: systemWorkers,
          // Node loads the sources, which need no transformation, in half the time that the module runner takes.
          experimental: { viteModuleRunner: false, nodeLoader: false },
          // As for unit tests: to load them costs a second in each file.
          isolate: false,
          setupFiles: "packages/cli/system/support/setup.ts",
          globalSetup: "scripts/test/program.ts",
          testTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
