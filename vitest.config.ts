import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts"],
          // Modules are loaded once per worker instead of once per file. Unit tests own what they change.
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "system",
          include: ["packages/*/system/**/*.test.ts", "examples/**/*.test.ts"],
          // Real sockets, processes and databases: one file at a time, with time to spare on a busy machine.
          fileParallelism: false,
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
