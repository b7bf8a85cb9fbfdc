import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Torture } from "../../../scripts/torture/torture.ts";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { TestCluster } from "../system/support/cluster.ts";
import { beginFile, endFile, folder, killRunning } from "../system/support/reins.ts";

/** The suites of `/v1/rpc`, `/acp`, `/ws` and `/opencode`, in which a home of a test is one of three nodes. */
const SUITES = ["rpc", "acp", "haak", "opencode.test", "bridge-transport", "connections"];

/** Has `reins ahp conformance` examine three servers behind a balancer. */
async function examineAhp(database: string): Promise<void> {
  // A test has its folder already.
  const isAlone = folder === "";
  if (isAlone) beginFile();
  const cluster = await TestCluster.start(database, ["a", "b", "c"]);
  try {
    const { home } = cluster.node("a");
    for (const transport of ["http", "ws"]) {
      const address = `${cluster.url.replace("http", transport)}/ahp`;
      const how = [transport, address, "--token", cluster.token];
      const { code, stdout, stderr } = await home.run("ahp", "conformance", ...how);
      assert.equal(code, 0, `AHP over ${transport}: ${stdout}${stderr}`);
    }
  } finally {
    cluster.close();
    await killRunning();
    if (isAlone) endFile();
  }
}

export default {
  name: "dialects",
  title: "Every protocol's own suite passes against three nodes, with each request to one at random",
  async run({ seed, scale, signal, log }) {
    if (postgresFolder === undefined) return log("there is no PostgreSQL for this machine");
    const server = await PostgresServer.start();
    try {
      await examineAhp(server.address());
      if (scale === "small") return;
      const files = SUITES.map((name) => `packages/server/system/${name}`);
      const line = ["node_modules/vitest/vitest.mjs", "run", "--project", "system", ...files];
      const suites = spawn(process.execPath, line, {
        cwd: fileURLToPath(new URL("../../..", import.meta.url)),
        env: { ...process.env, REINS_TEST_NODES: server.address(), REINS_TEST_SEED: `${seed}` },
        stdio: "inherit",
        signal,
      });
      const [code] = await once(suites, "exit");
      assert.equal(code, 0, "a suite failed against several nodes");
    } finally {
      await server.stop();
    }
  },
} satisfies Torture;
