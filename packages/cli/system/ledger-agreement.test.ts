import { test } from "vitest";
import torture from "../torture/ledger-agreement.torture.ts";

test("the verifier accepts what the ledger writes, whatever it is", async ({ signal }) => {
  await torture.run({ seed: 20_261_115, scale: "small", signal, log: () => undefined });
});
