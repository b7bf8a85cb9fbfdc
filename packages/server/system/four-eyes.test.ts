import { existsSync } from "node:fs";
import { join } from "node:path";
import { RpcError } from "@reins/acp";
import { call, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentHome, openAgentHome } from "./fixtures/agent-home.ts";
import { serveAgents } from "./fixtures/agents.ts";
import { BridgeHost } from "./fixtures/bridge-host.ts";
import { HaakSocket, saidIn, serveHaak } from "./fixtures/haak.ts";
import type { Served } from "./fixtures/home.ts";
import { dataOf, opencodeClient } from "./fixtures/opencode.ts";

// Everything is asked by the operator, who may answer anything else.
const RULES = `
tool_rules:
  - name: eyes
    condition: { tool_name_matches: ["fs/write_file", "terminal/create", "host/deploy", Bash, Write] }
    verdict: ask
    four_eyes: true
  - { name: rest, condition: {}, verdict: allowed }
`;
let model: ScriptedModel | undefined;
let opened: AgentHome | undefined;
beforeAll(async () => {
  model = await ScriptedModel.listen({
    script: scenes(scene("deploy it", reply(call("deploy", { to: "production" })), reply(say("Done.")))),
  });
  const { url, key } = model.endpoint;
  const environment = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key, REINS_MODEL: "claude-sonnet-5-5" };
  opened = await openAgentHome({ rules: RULES, environment });
});
afterAll(async () => {
  await opened?.close();
  await model?.close();
});
const home = () => opened ?? expect.fail();

/** Has the one open question answered by who asked, which does nothing, and then by another. */
async function answeredByOther(served: Served, tool: string, isDone: () => boolean): Promise<void> {
  const pending = async () => {
    const { body } = await served.ask("GET", "/v1/approvals?state=pending");
    return Object(body).approvals as readonly { readonly id: string; readonly facts: { tool: string } }[];
  };
  await expect.poll(async () => (await pending()).map(({ facts }) => facts.tool)).toEqual([tool]);
  const path = `/v1/approvals/${(await pending())[0]?.id}`;
  expect((await served.ask("GET", path)).body).toMatchObject({ four_eyes: true, options: ["deny"] });
  for (const decision of ["allow_once", "allow_always"])
    expect((await served.ask("POST", `${path}/answer`, { body: { decision } })).status).toBe(403);
  expect(isDone()).toBe(false);
  expect(await pending()).toHaveLength(1);
  const { secret } = await served.person({ roles: ["approver"] });
  const answered = await served.ask("POST", `${path}/answer`, {
    as: secret,
    body: { decision: "allow_once" },
  });
  expect(answered.status).toBe(200);
}

test("a file that a caller writes takes another person than the caller", async () => {
  const served = await serveAgents(home());
  const file = join(home().workspace, "four-eyes.txt");
  const written = served.ask("PUT", "/v1/fs/file?path=four-eyes.txt", {
    headers: { "content-type": "application/octet-stream" },
    body: Buffer.from("x"),
  });
  await answeredByOther(served, "fs/write_file", () => existsSync(file));
  expect((await written).status).toBe(200);
  expect(existsSync(file)).toBe(true);
});

test("a command that a caller runs takes another person than the caller", async () => {
  const served = await serveAgents(home());
  const marker = join(home().workspace, "ran");
  const ran = served.ask("POST", "/v1/processes/run", { body: { command: "touch", args: [marker] } });
  await answeredByOther(served, "terminal/create", () => existsSync(marker));
  expect((await ran).body).toMatchObject({ exitCode: 0 });
  expect(existsSync(marker)).toBe(true);
});

test("a tool that the client of a session lends is not granted by that client", async () => {
  const served = await serveAgents(home());
  const host = await BridgeHost.open(served, "websocket", (method) => {
    if (method === "host/tools/list")
      return { tools: [{ name: "deploy", description: "Deploys", schema: { type: "object" } }] };
    if (method === "builtin_call") return { deployed: true };
    if (method === "session/request_permission") return { granted: true };
    throw new RpcError(-32601, method);
  });
  const turn = host.prompt(1, await host.begin(home().workspace), "deploy it");
  await expect.poll(() => host.asked("session/request_permission").length).toBeGreaterThan(0);
  await answeredByOther(served, "host/deploy", () => host.asked("builtin_call").length > 0);
  expect(await turn).toMatchObject({ result: { stopReason: "end_turn" } });
  expect(host.asked("builtin_call")).toHaveLength(1);
});

test("a call in a session of HAAK is not allowed by the one who ran the turn", async () => {
  const { served } = await serveHaak({ home: home() });
  const client = await HaakSocket.open(`${served.address}/ws`, {
    authorization: `Bearer ${served.access.token}`,
  });
  const { result } = await client.ask("session.init", { agent_id: "coder" });
  const turn = client.ask("turn.run", { session_key: result?.session_key, message: "run npm test" });
  await answeredByOther(served, "Bash", () => client.frames.some(({ event }) => event?.text === "yes"));
  expect(saidIn(await turn)).toContain("yes");
});

test("a permission is not given by the client of OpenCode that prompts", async () => {
  const served = await serveAgents(home());
  const client = opencodeClient({ address: served.address, token: served.access.token }, home().workspace);
  const { id: sessionID } = await dataOf(client.session.create({ agent: "stub" }));
  const parts = [{ type: "text" as const, text: "run npm test" }];
  const turn = dataOf(client.session.prompt({ sessionID, parts }));
  await expect.poll(async () => (await dataOf(client.permission.list())).length).toBe(1);
  const [asked] = await dataOf(client.permission.list());
  const requestID = String(asked?.id);
  for (const given of ["once", "always"] as const)
    await expect(client.permission.reply({ requestID, reply: given })).rejects.toThrow();
  let isDone = false;
  void turn.then(() => {
    isDone = true;
  });
  await answeredByOther(served, "Bash", () => isDone);
  expect((await turn).parts).toMatchObject([expect.anything(), { type: "text", text: "yes" }]);
});
