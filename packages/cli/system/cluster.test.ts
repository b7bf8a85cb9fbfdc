import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@reins/sdk";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { TestCluster } from "./support/cluster.ts";

let server: PostgresServer;

async function startCluster(...names: string[]): Promise<TestCluster> {
  const cluster = await TestCluster.start(server.address(), names);
  onTestFinished(() => cluster.close());
  return cluster;
}

/** The approval that waits, as a node lists it. */
async function pending(cluster: TestCluster, node: string): Promise<string> {
  const first = async () => {
    const { body } = await cluster.ask("/v1/approvals?state=pending", { url: cluster.urlOf(node) });
    return body.approvals?.[0]?.id;
  };
  await expect.poll(first, { timeout: 60_000 }).toMatch(/^apr_/);
  return first();
}

describe.skipIf(postgresFolder === undefined)("three nodes on one database", { timeout: 300_000 }, () => {
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  it("are one Reins: a prompt through one is asked about through another, and seen through the third", async () => {
    const cluster = await startCluster("a", "b", "c");
    const { workspace } = cluster.node("a").home;
    const clients = await Promise.all(
      ["a", "b", "c"].map((name) => connect(cluster.urlOf(name), { token: cluster.token })),
    );
    onTestFinished(async () => {
      for (const client of clients) await client.close();
    });
    const [a, b, c] = clients;
    if (!a || !b || !c) return;
    const session = await a.sessions.create({ agent: "native", cwd: workspace });
    const turn = session.prompt("run `make asked; echo done > made`").result();
    const id = await pending(cluster, "b");
    const followed = await c.sessions.resume(session.id);
    await b.approvals.answer(id, "allow_once");
    expect(await turn).toMatchObject({ stopReason: "end_turn" });
    expect(await readFile(join(workspace, "made"), "utf8")).toBe("done\n");
    const seen = [];
    for await (const event of followed.history()) seen.push(event.type);
    expect(seen).toContain("tool");
  });
});
