import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Torture } from "../../../scripts/torture/torture.ts";
import { obtainSandbox } from "../test/bubblewrap.ts";
import { killTrees, orphanTrees, stopTrees } from "./trees/ordeals.ts";

const TREES = { small: 5, full: 100 };

const torture: Torture = {
  name: "process-trees",
  title:
    "trees of processes that do not want to end, stopped, orphaned or killed: confined, none is left; free, what is left is reported",
  async run({ seed, scale, signal, log }) {
    const place = await realpath(await mkdtemp(join(tmpdir(), "process-trees-")));
    try {
      const ordeal = { trees: TREES[scale], seed, place, signal };
      log(`free, ${await stopTrees(ordeal)}`);
      log(`free, ${await orphanTrees(ordeal)}`);
      log(`free, ${await killTrees(ordeal)}`);
      const sandbox = await obtainSandbox();
      if (!sandbox.available)
        return log(`CONFINED TREES WERE NOT TRIED: ${sandbox.reason} ${sandbox.remedy}`);
      log(`confined, ${await stopTrees({ ...ordeal, sandbox })}`);
      log(`confined, ${await orphanTrees({ ...ordeal, sandbox })}`);
      log(`confined, ${await killTrees({ ...ordeal, sandbox })}`);
    } finally {
      await rm(place, { recursive: true, force: true });
    }
  },
};

export default torture;
