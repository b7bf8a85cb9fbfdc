import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { calling, ScriptedModel } from "../test/scripted-model.ts";
import { TestClient } from "../test/test-client.ts";
import { testWorkspace } from "../test/workspace.ts";

const LAB = {
  name: "lab",
  command: process.execPath,
  args: [join(import.meta.dirname, "fixtures/mcp-lab.ts")],
  env: [{ name: "LAB", value: "in the lab" }],
};

async function sessionWith(mcpServers: readonly unknown[], model: ScriptedModel) {
  const { cwd } = await testWorkspace();
  const client = new TestClient({ models: model.models });
  await client.request("initialize", { protocolVersion: 1 });
  const { sessionId } = await client.request("session/new", { cwd, mcpServers });
  return { client, sessionId, cwd };
}

describe("an MCP server", () => {
  test("provides tools, which are decided like any other", async () => {
    const model = new ScriptedModel([calling("mcp__lab__echo", { text: "hello" }), "Done."]);
    const { client, sessionId } = await sessionWith([LAB], model);
    expect(await client.prompt(sessionId, "hello")).toMatchObject({ stopReason: "end_turn" });
    expect(model.asked[0]?.tools.find(({ name }) => name === "mcp__lab__echo")).toMatchObject({
      description: "Says it again",
      parameters: { type: "object", properties: { text: { type: "string" } } },
    });
    expect(client.asked).toMatchObject([
      { name: "mcp__lab__echo", rawInput: { text: "hello" }, kind: "other" },
    ]);
    expect(JSON.stringify(model.asked[1]?.messages)).toContain("hello (in the lab)");
  });

  test("is not called when refused or in plan mode", async () => {
    const model = new ScriptedModel([calling("mcp__lab__echo", { text: "hello" }), "Done."]);
    const { client, sessionId } = await sessionWith([LAB], model);
    client.answer = () => "reject_once";
    await client.prompt(sessionId, "hello");
    expect(JSON.stringify(model.asked[1]?.messages)).toContain("Not allowed");
    await client.request("session/set_mode", { sessionId, modeId: "plan" });
    await client.prompt(sessionId, "hello");
    expect(model.asked.at(-1)?.tools.some(({ name }) => name.startsWith("mcp__"))).toBe(false);
  });

  test("whose tools have the names of another's, as models write them, keeps its own", async () => {
    const model = new ScriptedModel(["Hello."]);
    const { client, sessionId } = await sessionWith(
      [
        { ...LAB, name: "a b" },
        { ...LAB, name: "a_b" },
      ],
      model,
    );
    await client.prompt(sessionId, "hello");
    const names =
      model.asked[0]?.tools.map(({ name }) => name).filter((name) => name.startsWith("mcp__")) ?? [];
    expect(names).toHaveLength(4);
    expect(new Set(names).size).toBe(4);
    model.play(calling(names[2] ?? "", { text: "from the second" }), "Done.");
    await client.prompt(sessionId, "again");
    expect(client.of("tool_call").at(-1)).toMatchObject({ title: "a_b: echo" });
    expect(JSON.stringify(model.asked.at(-1)?.messages)).toContain("from the second (in the lab)");
  });

  test("that fails at a call reports so", async () => {
    const model = new ScriptedModel([calling("mcp__lab__fail", {}), "Hm."]);
    const { client, sessionId } = await sessionWith([LAB], model);
    await client.prompt(sessionId, "hello");
    expect(client.of("tool_call_update").at(-1)).toMatchObject({ status: "failed" });
    expect(JSON.stringify(model.asked[1]?.messages)).toContain("it did not work");
  });

  test.each([
    ["cannot be started", { name: "gone", command: "/nowhere/at/all", args: [], env: [] }, "gone"],
    ["ends at once", { name: "brief", command: process.execPath, args: ["-e", ""], env: [] }, "brief"],
    ["cannot be reached", { type: "http", name: "far", url: "http://127.0.0.1:9/mcp", headers: [] }, "far"],
    ["is none", { name: "odd" }, "a server"],
  ])("that %s is reported once, and everything else works", async (_, server, name) => {
    const model = new ScriptedModel(["Hello."]);
    const { client, sessionId } = await sessionWith([server, LAB], model);
    await client.prompt(sessionId, "hello");
    await client.prompt(sessionId, "hello");
    expect(client.thought.split(`The tools of ${name} cannot be used`)).toHaveLength(2);
    expect(model.asked[0]?.tools.some((tool) => tool.name === "mcp__lab__echo")).toBe(true);
    expect(client.said).toBe("Hello.Hello.");
  });

  test("does not delay the cancellation of a turn", async () => {
    const model = new ScriptedModel(["Hello."]);
    const silent = {
      name: "mute",
      command: process.execPath,
      args: ["-e", "process.stdin.resume()"],
      env: [],
    };
    const { client, sessionId } = await sessionWith([silent], model);
    const turn = client.prompt(sessionId, "hello");
    client.notify("session/cancel", { sessionId });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    expect(model.asked).toEqual([]);
  });
});
