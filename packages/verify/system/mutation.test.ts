import { it } from "vitest";
import torture from "../torture/mutation.torture.ts";

it("a sample of the torture run: flipped bits and other mutations are caught", async () => {
  await torture.run({ seed: 1, scale: "small", signal: AbortSignal.timeout(25_000), log: () => undefined });
});
