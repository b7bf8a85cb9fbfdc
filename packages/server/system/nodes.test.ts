import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { Membership, NodeLink } from "../src/index.ts";
import { type AgentHome, openAgentHome } from "./fixtures/agent-home.ts";
import { serveAgents } from "./fixtures/agents.ts";
import { silent } from "./fixtures/parts.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

/** Enough requests for each node to get some. */
const TIMES = 12;

// The suites of the protocols run like this with `npm run torture -- dialects`.
describe.skipIf(postgresFolder === undefined)("three nodes, with each request to one at random", () => {
  let server: PostgresServer;
  let home: AgentHome;
  beforeAll(async () => {
    server = await PostgresServer.start();
    home = await openAgentHome({ database: server.address() });
  });
  afterAll(async () => {
    await home?.close();
    await server?.stop();
    if (home) await rm(home.base, { recursive: true, force: true });
  });

  test("know a token at once that was made through one of them", async () => {
    const served = await serveAgents(home);
    for (let time = 0; time < TIMES; time += 1) {
      const { secret } = await served.person();
      expect((await served.ask("GET", "/v1/runs", { as: secret })).status).toBe(200);
    }
  });

  test("let the origins read an answer that the asked one allows, whichever answers", async () => {
    const origin = "https://console.example";
    const served = await serveAgents(home, { listen: { allowedOrigins: [origin] } });
    for (let time = 0; time < TIMES; time += 1) {
      const { status, headers } = await served.ask("GET", "/v1/sessions", { headers: { origin } });
      expect([status, headers]).toMatchObject([
        200,
        { "access-control-allow-origin": origin, "cross-origin-resource-policy": "cross-origin" },
      ]);
    }
  });

  test("run the turns of a session, one after the other", async () => {
    const served = await serveAgents(home);
    const client = await RpcClient.open(served);
    const session = await client.begin(home.workspace);
    for (let time = 0; time < TIMES; time += 1)
      expect((await client.prompt(session, `say ${time}`)).body).toMatchObject({
        result: { stopReason: "end_turn" },
      });
  });

  test("refuse one that seals with another key, which could not read what they store", async () => {
    await serveAgents(home);
    const { harness, hosting } = home;
    const link = new NodeLink({ secret: "s".repeat(32), log: silent });
    const joining = Membership.open({
      ...{ hosting, store: harness.store, link, address: "127.0.0.1:1", version: "1.2.3" },
      ...{ vaultKey: "other", onError: () => undefined },
    });
    await expect(joining).rejects.toThrow(/keys\/vault\.key is not that of the node [bc]/);
    link.close();
  });
});
