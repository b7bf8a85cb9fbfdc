import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { JsonObject } from "@reins/acp";
import { McpGateway, readServer } from "@reins/mcp";
import { Redactor } from "@reins/supervisor";
import { describe, expect, onTestFinished, test } from "vitest";
import { stdioServer } from "../../mcp/system/fixtures/home.ts";
import { RawAgent } from "../../mcp/system/fixtures/raw-agent.ts";
import { bash, govern } from "./fixtures/governed.ts";
import { openTestHome } from "./fixtures/home.ts";
import type { Stage } from "./fixtures/scripted-agent.ts";

const text = (said: string) => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: said },
});

/** A session whose agent works after its turn has ended. */
async function afterTheTurn(play: (stage: Stage) => Promise<unknown>, rules?: string) {
  const home = await openTestHome(rules === undefined ? {} : { rules });
  const capabilities = { _meta: { reins: { bridge: true } } };
  const governed = await govern({ home, capabilities, person: () => "allow_once" });
  let stage: Stage | undefined;
  await governed.prompt(await governed.begin(), async (given) => {
    stage = given;
    return undefined;
  });
  await wait(1_100);
  if (!stage) throw new Error("the turn did not begin");
  const result = await play(stage);
  const unprompted = async () =>
    (await governed.entries("policy_verdict"))
      .map(({ payload }) => payload as JsonObject)
      .filter((payload) => JSON.stringify(payload).includes("session/unprompted_turn"));
  const cancels = () => governed.agent.got.filter(({ method }) => method === "session/cancel").length;
  return { ...governed, result, unprompted, cancels };
}

describe("work of an agent without a prompt", () => {
  test.each<[string, JsonObject]>([
    ["says", text("I go on")],
    ["thinks", { ...text("hm"), sessionUpdate: "agent_thought_chunk" }],
    ["plans", { sessionUpdate: "plan", entries: [] }],
    ["announces", { sessionUpdate: "tool_call", toolCallId: "u", name: "Bash", rawInput: { command: "ls" } }],
  ])("is noticed, recorded, counted as a prompt and stopped: what it %s", async (_, update) => {
    const { unprompted, cancels, entries, shown } = await afterTheTurn(({ update: tell }) => tell(update));
    await expect.poll(cancels).toBeGreaterThan(0);
    expect(await unprompted()).toMatchObject([{ verdict: "blocked", enforcement: "observed" }]);
    const prompts = (await entries("policy_verdict")).filter(
      ({ payload }) => (payload as JsonObject).event_type === "pre_prompt",
    );
    expect(prompts).toHaveLength(2);
    await expect.poll(() => JSON.stringify(shown)).toContain("works without a prompt");
  });

  test.each<[string, (stage: Stage) => Promise<unknown>]>([
    ["a permission", ({ ask }) => ask(bash("ls"))],
    [
      "a file",
      ({ request }) => request("fs/write_text_file", { path: "x.txt", content: "x" }).catch(() => "refused"),
    ],
    ["a tool of the host", ({ request }) => request("builtin_call", { name: "x" }).catch(() => "refused")],
    ["a terminal", ({ request }) => request("terminal/create", { command: "ls" }).catch(() => "refused")],
  ])("gets no leave: %s", async (_, play) => {
    const { result, offered, unprompted } = await afterTheTurn(play);
    expect(["cancelled", "refused"]).toContain(result);
    expect(offered).toEqual([]);
    expect(await unprompted()).toHaveLength(1);
  });

  test("gets no MCP tool called", async () => {
    const rules = `
tool_rules:
  - { name: stays, condition: { tool_name_matches: [session/unprompted_turn] }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }`;
    const home = await openTestHome({ rules });
    const servers = await McpGateway.open({ redactor: Redactor.create() });
    onTestFinished(() => servers.close());
    const governed = await govern({ home, servers });
    const log = join(home.workspace, "mcp.log");
    const tools = [[[{ name: "polite", description: "d", inputSchema: { type: "object" } }]]];
    const id = await governed.begin({
      mcpServers: [stdioServer("hostile.ts", [log, JSON.stringify(tools)])],
    });
    const started = governed.agent.got.find(({ method }) => method === "session/new");
    const [server] = (started?.params.mcpServers ?? []) as unknown[];
    const agent = RawAgent.start(readServer(server));
    await agent.introduce();
    await governed.prompt(id, async () => undefined);
    expect(await agent.ask(1, "tools/list", {})).toHaveProperty("result");
    expect(JSON.stringify(await agent.ask(2, "tools/call", { name: "polite", arguments: {} }))).toContain(
      "the agent was not prompted",
    );
    expect(await readFile(log, "utf8")).not.toContain("tools/call");
    expect(governed.agent.got.filter(({ method }) => method === "session/cancel")).toHaveLength(1);
    expect(await governed.entries("tool_result")).toMatchObject([
      { target: "mcp/start", tags: ["completed"] },
      { target: "mcp:lab/polite", tags: ["refused"], payload: { reason: "the agent was not prompted" } },
    ]);
  });

  test("goes on where a rule lets it", async () => {
    const rules = `
tool_rules:
  - { name: goes_on, condition: { tool_name_matches: [session/unprompted_turn] }, verdict: allowed }
  - { name: rest, condition: {}, verdict: allowed }`;
    const { result, cancels, unprompted } = await afterTheTurn(({ ask }) => ask(bash("ls")), rules);
    expect(result).toBe("allow_once");
    expect(await unprompted()).toMatchObject([{ verdict: "allowed" }]);
    expect(cancels()).toBe(0);
  });

  test("ends its process when it continues after a cancel", async () => {
    let skipped = 0;
    const stops: string[] = [];
    const now = () => new Date(Date.now() + skipped);
    const governed = await govern({ now, stop: (reason) => stops.push(reason) });
    let stage: Stage | undefined;
    await governed.prompt(await governed.begin(), async (given) => {
      stage = given;
      return undefined;
    });
    const cancels = () => governed.agent.got.filter(({ method }) => method === "session/cancel").length;
    const goOn = async (later: number) => {
      skipped += later;
      await stage?.update(text("I go on"));
    };
    await goOn(1_100);
    await expect.poll(cancels).toBe(1);
    await goOn(3_000);
    await expect.poll(cancels).toBe(2);
    expect(stops).toEqual([]);
    await goOn(8_000);
    await expect.poll(() => stops).toEqual([expect.stringContaining("keeps working without a prompt")]);
  });

  test("is no more than last words right after the turn, and a greeting before the first", async () => {
    const governed = await govern();
    const id = await governed.begin();
    let stage: Stage | undefined;
    await governed.prompt(id, async (given) => {
      stage = given;
      return undefined;
    });
    await stage?.update(text("bye"));
    await stage?.update({ sessionUpdate: "available_commands_update", availableCommands: [] });
    await wait(100);
    expect(governed.agent.got.map(({ method }) => method)).not.toContain("session/cancel");
  });
});
