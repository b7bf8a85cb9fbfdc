import { join } from "node:path";
import { SessionTools } from "@reins/api";
import { call, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { openAgentHome } from "./fixtures/agent-home.ts";
import { serveAgents } from "./fixtures/agents.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const RULES = `
tool_rules:
  - { name: never, condition: { tool_name_matches: ["mcp:many/drop_database"] }, verdict: blocked, reason: no }
  - { name: all, condition: {}, verdict: allowed }
`;
const MANY = {
  name: "many",
  command: process.execPath,
  args: [join(import.meta.dirname, "fixtures/many-tools.ts")],
  env: [],
};

/** A session of the native agent with an MCP server of many tools and a scripted model. */
async function openSession() {
  const model = await ScriptedModel.listen({
    script: scenes(
      scene(
        "merge it",
        reply(call("search_tools", { query: "merge a pull request" })),
        reply(call("mcp__many__merge_pull_request", {})),
        reply(say("Merged.")),
      ),
    ),
  });
  const { url, key } = model.endpoint;
  const environment = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key, REINS_MODEL: "claude-sonnet-5-5" };
  const home = await openAgentHome({ rules: RULES, environment });
  onTestFinished(async () => {
    await home.close();
    await model[Symbol.asyncDispose]();
  });
  const served = await serveAgents(home);
  const client = await RpcClient.open(served);
  const _meta = { "sandboxagent.dev": { agent: "native" } };
  const { sessionId } = await client.result("session/new", {
    cwd: home.workspace,
    mcpServers: [MANY],
    _meta,
  });
  const tools = async (query = "") => {
    const { body, status } = await served.ask("GET", `/v1/sessions/${sessionId}/tools${query}`);
    expect(status).toBe(200);
    return SessionTools.parse(body);
  };
  return { home, served, client, sessionId: String(sessionId), tools, model };
}

describe("the tools of a session", () => {
  test("are listed with source and state, found by a query, and promoted by the model's search", async () => {
    const { home, client, sessionId, tools, model } = await openSession();
    const before = await tools();
    expect(before.counts).toMatchObject({ promoted: 0, deferred: 62 });
    expect(before.tools).toContainEqual(
      expect.objectContaining({
        name: "mcp__many__send_invoice",
        source: "many",
        label: "send_invoice",
        state: "deferred",
      }),
    );
    expect(before.tools).toContainEqual(expect.objectContaining({ name: "read_file", state: "loaded" }));
    // What policy blocks is no candidate.
    expect(before.tools.map(({ name }) => name)).not.toContain("mcp__many__drop_database");
    expect((await tools("?query=drop%20the%20database")).tools.map(({ name }) => name)).not.toContain(
      "mcp__many__drop_database",
    );
    const found = await tools("?query=bill%20a%20customer");
    expect(found).toMatchObject({
      strategy: "bm25",
      tools: [{ name: "mcp__many__send_invoice", why: expect.any(String) }],
    });
    expect((await tools("?query=%5Emerge_&strategy=regex")).tools).toMatchObject([
      { name: "mcp__many__merge_pull_request" },
    ]);
    expect((await tools("?query=(&strategy=regex")).diagnostic).toMatch(/pattern is invalid/);
    expect((await tools("?query=merge&strategy=host")).diagnostic).toMatch(/host/);
    const stream = await client.stream();
    await client.prompt(sessionId, "merge it");
    const { counts, tools: after } = await tools();
    expect(counts).toMatchObject({ promoted: 1, deferred: 61 });
    expect(after.find(({ name }) => name === "mcp__many__merge_pull_request")?.state).toBe("promoted");
    await expect.poll(() => JSON.stringify(stream.messages)).toContain("tool_search_result");
    const offered = model.requests.map(({ conversation }) => JSON.stringify(conversation));
    expect(offered.join()).toContain("merge_pull_request was done");
    // What a search finds is no other offer.
    await client.prompt(sessionId, "and thanks");
    const recorded = await home.ledger.read({ tag: "tool_offer", order: "newest", limit: 10 });
    expect(recorded).toHaveLength(1);
  });

  test("are shown to those who may see the session, and are empty where the agent lists its own", async () => {
    const { served, client, home, sessionId } = await openSession();
    const { secret: as } = await served.person();
    expect((await served.ask("GET", `/v1/sessions/${sessionId}/tools`, { as })).status).toBe(404);
    const stub = await client.begin(home.workspace, "stub");
    const { body } = await served.ask("GET", `/v1/sessions/${stub}/tools`);
    expect(body).toMatchObject({ tools: [], total: 0, diagnostic: expect.stringContaining("native") });
  });
});
