import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@reins/acp";
import { AgentEntry } from "@reins/agents";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Governor } from "../src/governor/governor.ts";
import { openTestHome } from "./fixtures/home.ts";
import { type Play, ScriptedAgent } from "./fixtures/scripted-agent.ts";

const entry = AgentEntry.parse({
  id: "claude",
  name: "A scripted agent",
  support: { level: "supported" },
  start: { with: "file", file: "/bin/true" },
  profile: { mode: "default" },
  modes: ["default"],
  tools: "claude-code",
  enforcement: { level: "asked" },
});

/** What each message is called in the schemas that the SDK ships. */
const NAMES: Readonly<Record<string, string>> = {
  initialize: "InitializeRequest",
  "session/new": "NewSessionRequest",
  "session/load": "LoadSessionRequest",
  "session/set_mode": "SetSessionModeRequest",
  "session/prompt": "PromptRequest",
  "session/cancel": "CancelNotification",
  "session/update": "SessionNotification",
  "session/request_permission": "RequestPermissionRequest",
};

let faultsOf: (name: string, value: unknown) => unknown;

beforeAll(async () => {
  const url = import.meta.resolve("@agentclientprotocol/sdk/schema/v1/schema.unstable.json");
  const schema = JSON.parse(await readFile(fileURLToPath(url), "utf8"));
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(schema, "acp");
  faultsOf = (name, value) => {
    const check = ajv.getSchema(`acp#/$defs/${name}`);
    if (!check) throw new Error(`there is no ${name}`);
    return check(value) ? undefined : check.errors;
  };
});

async function governed() {
  const { harness, workspace } = await openTestHome();
  const agent = new ScriptedAgent({
    "session/new": () => ({ sessionId: "agent-1", modes: { currentModeId: "other", availableModes: [] } }),
  });
  const toClient: { method: string; params: JsonObject }[] = [];
  const governor = new Governor({
    harness,
    entry,
    launch: { mode: "default", configOptions: {}, meta: {}, strip: [] },
    channel: agent.channel,
    principal: harness.identity.local(),
    enforcement: "asked",
    from: "acp",
    clients: () => ({
      notify: (method, params) => void toClient.push({ method, params }),
      request: async (method, params) => {
        toClient.push({ method, params });
        return {
          value: { outcome: { outcome: "selected", optionId: "allow_once" } },
          by: harness.identity.local(),
        };
      },
    }),
  });
  onTestFinished(() => governor.close("the test is over"));
  const { signal } = new AbortController();
  const call = (method: string, params: JsonObject) => governor.request(method, params, { signal });
  return { agent, governor, toClient, call, workspace };
}

/** A turn in which everything that the governor says of itself is said. */
const play: Play = async ({ ask, request, update }) => {
  await ask({ toolCallId: "a", name: "Bash", rawInput: { command: "cat ~/.ssh/id_rsa" } });
  await request("fs/read_text_file", { path: "/var/lib/something" }).catch(() => undefined);
  await update({
    sessionUpdate: "tool_call",
    toolCallId: "b",
    title: "make",
    status: "completed",
    name: "Bash",
    rawInput: { command: "make" },
  });
  return { stopReason: "cancelled" };
};

describe("what Reins says", () => {
  test("to clients and agents is valid by the schemas of the SDK", async () => {
    const { agent, toClient, call, governor, workspace } = await governed();
    await call("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = (await call("session/new", { cwd: workspace, mcpServers: [] })) as JsonObject;
    agent.play = play;
    const answer = await call("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
    await governor.notification("session/cancel", { sessionId });
    await call("session/load", { sessionId, cwd: workspace, mcpServers: [] });
    const said = [...agent.got, ...toClient];
    expect(new Set(said.map(({ method }) => method))).toEqual(new Set(Object.keys(NAMES)));
    for (const { method, params } of said)
      expect([method, faultsOf(NAMES[method] ?? "", params)]).toEqual([method, undefined]);
    expect(faultsOf("PromptResponse", answer)).toBeUndefined();
  });

  test("keeps unknown updates and members of agents unchanged, and of clients what was decided", async () => {
    const { agent, toClient, call, workspace } = await governed();
    await call("initialize", { protocolVersion: 1, future: { a: [1] } });
    const { sessionId } = (await call("session/new", {
      cwd: workspace,
      mcpServers: [],
      future: 1,
    })) as JsonObject;
    const strange = { sessionUpdate: "from_the_future", nested: { deep: [{ x: null }] }, _meta: { k: 1 } };
    agent.play = async ({ update }) => {
      await update(strange);
      return { stopReason: "end_turn", future: "kept" };
    };
    const answer = await call("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "go" }],
      future: 2,
    });
    expect(answer).toEqual({ stopReason: "end_turn", future: "kept" });
    expect(toClient).toEqual([{ method: "session/update", params: { sessionId, update: strange } }]);
    const sent = new Map(agent.got.map(({ method, params }) => [method, params.future]));
    expect([sent.get("initialize"), sent.get("session/new"), sent.get("session/prompt")]).toEqual([
      { a: [1] },
      undefined,
      undefined,
    ]);
  });
});
