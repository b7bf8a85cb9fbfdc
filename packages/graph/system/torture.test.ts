import { it } from "vitest";
import torture from "../torture/runs.torture.ts";

it("Runs that are killed at every step come to the end they have unkilled, every effect once by its key", async ({
  signal,
}) => {
  await torture.run({ seed: 20_261_117, scale: "small", signal, log: () => undefined });
});
