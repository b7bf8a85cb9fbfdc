import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { homeWith, toy } from "./support/added-agents.ts";
import type { OperatedHome } from "./support/operated-home.ts";
import { packaged, packageRegistry } from "./support/package-registry.ts";
import type { Reins } from "./support/reins.ts";

const INITIALIZE = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };

/** A client of Sandbox Agent at a Reins that runs. */
async function clientOf(home: OperatedHome, reins: Reins) {
  const { origin } = new URL(reins.addressOf("http"));
  const headers = { authorization: `Bearer ${await home.startToken()}`, "content-type": "application/json" };
  return {
    initialize: (server: string, query = "?agent=packaged") =>
      fetch(`${origin}/v1/acp/${server}${query}`, {
        ...{ method: "POST", headers, body: JSON.stringify(INITIALIZE) },
      }),
    agent: async () => Object(await (await fetch(`${origin}/v1/agents/packaged`, { headers })).json()),
  };
}

const tarballs = (requests: readonly string[]) => requests.filter((path) => path.endsWith(".tgz")).length;

it("an agent is installed by the first message of a connection, once for all that ask", async () => {
  const registry = await packageRegistry("1.0.0");
  const home = homeWith([toy("honest", packaged)]);
  const reins = await home.up(registry.environment);
  const client = await clientOf(home, reins);
  expect(await client.agent()).toMatchObject({ id: "packaged", installed: false });
  expect((await client.initialize("none", "")).status).toBe(400);
  expect(registry.requests).toEqual([]);
  const answers = await Promise.all(Array.from({ length: 8 }, (_, count) => client.initialize(`s${count}`)));
  for (const answer of answers)
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { id: 1, result: { protocolVersion: 1 } },
    ]);
  expect(tarballs(registry.requests)).toBe(1);
  expect(await client.agent()).toMatchObject({ id: "packaged", installed: true });
  await home.stop(reins);
  const verdicts = await home.done("ledger", "export");
  expect(verdicts.split("\n").filter((line) => /policy_verdict.*agents\/install/.test(line))).toHaveLength(1);
});

it("an agent is not installed by the first message of a connection where a rule forbids that version", async () => {
  const registry = await packageRegistry("1.0.0");
  const home = homeWith([toy("honest", packaged)]);
  mkdirSync(home.path, { recursive: true });
  writeFileSync(
    join(home.path, "constitution.yaml"),
    `tool_rules:
  - { name: not_that_one, condition: { tool_name_matches: [agents/install], arguments: { version: 1.0.0 } }, verdict: blocked, reason: that version is closed }
  - { name: others, condition: { tool_name_matches: [agents/install] }, verdict: allowed, reason: they are open }
`,
  );
  const reins = await home.up(registry.environment);
  const client = await clientOf(home, reins);
  const refused = await client.initialize("one");
  expect(await refused.text()).toContain("that version is closed");
  expect(tarballs(registry.requests)).toBe(0);
  expect(await client.agent()).toMatchObject({ id: "packaged", installed: false });
  await home.stop(reins);
});

it("an agent that is not installed is refused where agents have to be, and nothing is fetched", async () => {
  const registry = await packageRegistry("1.0.0");
  const home = homeWith([toy("honest", packaged)]);
  const reins = await home.up({ ...registry.environment, SANDBOX_AGENT_REQUIRE_PREINSTALL: "1" });
  const client = await clientOf(home, reins);
  const refused = await client.initialize("one");
  expect([refused.status, refused.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  expect(Object(await refused.json()).detail).toContain("reins agents install packaged");
  // The id can be used for another agent then.
  expect((await client.initialize("one", "?agent=native")).status).toBe(200);
  expect(registry.requests).toEqual([]);
  await home.stop(reins);
});
