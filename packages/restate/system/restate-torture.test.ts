import { it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { restateProgram } from "../test/restate-server.ts";
import torture from "../torture/restate.torture.ts";

const withRestate = requirement(
  "Restate",
  restateProgram !== undefined,
  "npm has no Restate server for this machine",
);

withRestate("Runs whose processes and whose Restate are killed", () => {
  it("come to the end they have unkilled, every effect once by its key", { timeout: 400_000 }, async ({
    signal,
  }) => {
    await torture.run({ seed: 20_261_118, scale: "small", signal, log: () => undefined });
  });
});
