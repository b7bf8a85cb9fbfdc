import { it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { temporaryFolder } from "../test/agents.ts";
import { describeConfined, sandbox } from "../test/with-sandbox.ts";
import { orphanTrees, stopTrees } from "../torture/trees/ordeals.ts";

const SEED = 20_261_115;
const TREES = 5;

requirement(
  "Linux",
  process.platform === "linux",
  "the process table is read from /proc",
)("trees of processes that do not want to end", () => {
  it("are killed when stopped, and the report is what is left", async ({ signal }) => {
    await stopTrees({ trees: TREES, seed: SEED, place: await temporaryFolder(), signal });
  });

  it("are killed when Reins is killed, and the report is what is left", async ({ signal }) => {
    await orphanTrees({ trees: TREES, seed: SEED, place: await temporaryFolder(), signal });
  });
});

describeConfined("confined trees", () => {
  it("are gone two seconds after they were stopped", async ({ signal }) => {
    await stopTrees({ trees: TREES, seed: SEED, place: await temporaryFolder(), sandbox, signal });
  });

  it("are gone two seconds after Reins was killed", async ({ signal }) => {
    await orphanTrees({ trees: TREES, seed: SEED, place: await temporaryFolder(), sandbox, signal });
  });
});
