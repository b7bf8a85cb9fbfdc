import { it } from "vitest";
import torture from "../torture/restart.torture.ts";

it("a killed server loses and repeats nothing", { timeout: 120_000 }, async ({ signal }) => {
  await torture.run({ seed: 20_261_115, scale: "small", signal, log: () => undefined });
});
