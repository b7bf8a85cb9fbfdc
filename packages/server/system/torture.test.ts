import { it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import largeFile from "../torture/large-file.torture.ts";
import restart from "../torture/restart.torture.ts";

const SMALL = { seed: 20_261_115, scale: "small", log: () => undefined } as const;

it("a killed server loses and repeats nothing", { timeout: 120_000 }, async ({ signal }) => {
  await restart.run({ ...SMALL, signal });
});

requirement(
  "/proc",
  process.platform === "linux",
  "it shows the memory of a process",
)("a large file", () => {
  it("goes up and down whole in bounded memory", { timeout: 120_000 }, async ({ signal }) => {
    await largeFile.run({ ...SMALL, signal });
  });
});
