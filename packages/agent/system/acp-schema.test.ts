import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, test } from "vitest";
import { VolatileSessionStore } from "../src/history/session-store.ts";
import { calling, ScriptedModel } from "../test/scripted-model.ts";
import { type Loose, TestClient } from "../test/test-client.ts";
import { testWorkspace } from "../test/workspace.ts";

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

const ANSWERS: Readonly<Record<string, string>> = {
  initialize: "InitializeResponse",
  "session/new": "NewSessionResponse",
  "session/load": "LoadSessionResponse",
  "session/resume": "ResumeSessionResponse",
  "session/fork": "ForkSessionResponse",
  "session/list": "ListSessionsResponse",
  "session/set_mode": "SetSessionModeResponse",
  "session/set_config_option": "SetSessionConfigOptionResponse",
  "session/prompt": "PromptResponse",
  "session/close": "CloseSessionResponse",
};

/** Updates that ACP does not define and the bridge does. */
const isOurs = ({ params }: Loose) => params?.update?.sessionUpdate === "worker_update";

describe("every message of the native agent", () => {
  test("conforms to ACP's schemas", async () => {
    const { cwd } = await testWorkspace({ "a.txt": "alpha" });
    const plan = [{ content: "look", status: "completed", priority: "high" }];
    const model = new ScriptedModel(
      [
        calling("update_plan", { entries: plan }),
        calling("read_file", { path: "a.txt" }),
        calling("write_file", { path: "b.txt", content: "beta" }),
        calling("edit_file", { path: "b.txt", old_text: "beta", new_text: "gamma" }),
        calling("run_command", { command: "echo hi" }),
        calling("read_file", { path: "../outside" }),
        calling("spawn_subagent", { prompt: "help" }),
        [
          { type: "thinking", text: "hm" },
          { type: "text", text: "Done." },
          {
            type: "usage",
            usage: { inputTokens: 5, outputTokens: 2, thoughtTokens: 1, cachedReadTokens: 1 },
          },
          { type: "end", stop: "end" },
        ],
      ],
      { contextTokens: 9_000, maxOutputTokens: 1_000 },
    );
    const store = new VolatileSessionStore();
    const client = new TestClient({
      models: model.models,
      store,
      services: { subagents: { run: async () => "helped" } },
    });
    const answered: { method: string; result: unknown }[] = [];
    const call = async (method: string, params: Record<string, unknown>) => {
      const result = await client.request(method, params);
      answered.push({ method, result });
      return result;
    };
    const session = { notices: {}, compaction: {} };
    await call("initialize", { protocolVersion: 1, clientCapabilities: { session } });
    const { sessionId } = await call("session/new", { cwd, mcpServers: [] });
    const prompt = (text: string) => call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    await prompt("fix everything");
    for (const _ of [1, 2, 3]) await prompt(`hello ${"filler ".repeat(1_200)}`);
    await call("session/set_mode", { sessionId, modeId: "plan" });
    await call("session/set_config_option", { sessionId, configId: "thought_level", value: "low" });
    await call("session/list", {});
    const { sessionId: fork } = await call("session/fork", { sessionId, cwd });
    await call("session/close", { sessionId: fork });
    await call("session/resume", { sessionId, cwd });
    await call("session/load", { sessionId, cwd, mcpServers: [] });

    for (const { method, result } of answered)
      expect([method, faultsOf(ANSWERS[method]!, result)]).toEqual([method, undefined]);
    const sent = client.messages.filter((message) => message.method !== undefined && !isOurs(message));
    for (const { method, params } of sent) {
      const name = method === "session/update" ? "SessionNotification" : "RequestPermissionRequest";
      expect([params, faultsOf(name, params)]).toEqual([params, undefined]);
    }
    const kinds = new Set(client.updates.map(({ update }) => update.sessionUpdate));
    expect([...kinds].toSorted()).toEqual([
      "agent_message_chunk",
      "agent_thought_chunk",
      "compaction_update",
      "notice",
      "plan",
      "session_info_update",
      "tool_call",
      "tool_call_update",
      "usage_update",
      "user_message_chunk",
      "worker_update",
    ]);
  });
});
