import { it } from "vitest";
import torture from "../torture/store-crash.torture.ts";

it("holds what was promised when its process is killed", async ({ signal }) => {
  await torture.run({ seed: 20_260_204, scale: "small", signal, log: () => undefined });
});
