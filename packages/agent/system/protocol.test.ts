import { describe, expect, test } from "vitest";
import { ScriptedProtocol } from "../test/scripted-protocol.ts";
import { TestClient } from "../test/test-client.ts";
import { testWorkspace } from "../test/workspace.ts";
import { DIALECTS, modelAt, only } from "./fixtures/dialect-names.ts";
import { modelServer } from "./fixtures/model-server.ts";

const ACT = { kind: "act", calls: [{ id: "a", type: "tool", name: "read_file", args: { path: "a.txt" } }] };

describe.each(DIALECTS)("in the mode protocol, a model spoken to by %s", (dialect) => {
  test("gets one message and one tool, and what it declares reaches the runtime as it wrote it", async () => {
    const { cwd } = await testWorkspace();
    const server = await modelServer(
      { say: [{ thinking: "private" }, { call: "AgentProtocolOutput", given: ACT, id: "call-id" }] },
      { say: [{ text: "It says a." }] },
    );
    const protocol = new ScriptedProtocol({ observation: "### Result for a" }, { over: "It says a." });
    const models = only(modelAt(dialect, server.url));
    const client = await TestClient.open(cwd, { models, services: { protocol } });
    const { sessionId } = client;
    await client.request("session/set_mode", { sessionId, modeId: "protocol" });
    expect(await client.prompt(sessionId, "read a.txt")).toMatchObject({ stopReason: "end_turn" });
    expect(protocol.declared).toMatchObject([
      { calls: [{ name: "AgentProtocolOutput", arguments: JSON.stringify(ACT) }], isComplete: true },
      { text: "It says a.", calls: [], isComplete: true },
    ]);
    const [first, second] = server.asked.map(({ body }) => body);
    expect(first.tools).toHaveLength(1);
    expect(JSON.stringify(second)).toContain("### Result for a");
    for (const hidden of ["private", "call-id", "tool_result", "function_call_output", "tool_call_id"])
      expect(JSON.stringify(second)).not.toContain(hidden);
    expect(client.said).toBe("It says a.");
  });

  test("declares nothing by an answer that was cut off", async () => {
    const { cwd } = await testWorkspace();
    const server = await modelServer(
      { say: [{ text: "```json agent-protocol\n{" }], stop: "cut" },
      { say: [{ text: "Hello." }] },
    );
    const protocol = new ScriptedProtocol({ over: "Hello." });
    const models = only(modelAt(dialect, server.url));
    const client = await TestClient.open(cwd, { models, services: { protocol }, limits: { backoffMs: 1 } });
    const { sessionId } = client;
    await client.request("session/set_mode", { sessionId, modeId: "protocol" });
    await client.prompt(sessionId, "hello");
    expect(protocol.declared).toEqual([{ text: "Hello.", calls: [], isComplete: true }]);
    expect(server.asked).toHaveLength(2);
  });
});
