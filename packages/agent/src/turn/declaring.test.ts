import { MATCH_DEFAULTS, type Skill } from "@reins/bridge";
import { describe, expect, test } from "vitest";
import { ScriptedControl } from "../../test/scripted-control.ts";
import { calling, ScriptedModel, type ScriptedReply } from "../../test/scripted-model.ts";
import { type ScriptedDeclared, ScriptedProtocol } from "../../test/scripted-protocol.ts";
import { TestClient } from "../../test/test-client.ts";
import { testWorkspace } from "../../test/workspace.ts";
import type { NativeAgentOptions } from "../agent-dependencies.ts";
import { VolatileSessionStore } from "../history/session-store.ts";
import { ModelError, type ModelInfo } from "../models/model.ts";
import type { SkillService } from "../skills/session-skills.ts";

const ACT = { kind: "act", calls: [{ id: "a", type: "tool", name: "read_file", args: { path: "a.txt" } }] };
const declaring = calling("AgentProtocolOutput", ACT);

async function run({
  replies,
  script,
  control = new ScriptedControl(),
  skills,
  info,
  ...options
}: NativeAgentOptions & {
  readonly skills?: SkillService;
  readonly replies: readonly ScriptedReply[];
  readonly script: readonly ScriptedDeclared[];
  readonly info?: Partial<ModelInfo>;
  readonly control?: ScriptedControl;
}) {
  const model = new ScriptedModel(replies, info);
  const protocol = new ScriptedProtocol(...script);
  const { cwd } = await testWorkspace({ "a.txt": "a" });
  const store = new VolatileSessionStore();
  const services = { protocol, ...(skills && { skills }) };
  const client = await TestClient.open(cwd, { models: model.models, store, control, services, ...options });
  const { sessionId } = client;
  await client.request("session/set_mode", { sessionId, modeId: "protocol" });
  const prompt = (text: string) => client.prompt(sessionId, text);
  const load = async () => {
    const again = new TestClient({ store, models: model.models, services });
    await again.request("session/load", { sessionId, cwd, mcpServers: [] });
    return again;
  };
  return { model, protocol, client, control, store, prompt, load, cwd };
}

describe("the mode protocol", () => {
  test("is there only with a host that runs action graphs", async () => {
    const { cwd } = await testWorkspace();
    const without = await TestClient.open(cwd);
    const mode = { sessionId: without.sessionId, modeId: "protocol" };
    await expect(without.request("session/set_mode", mode)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("there are default, plan"),
    });
    const client = new TestClient({ services: { protocol: new ScriptedProtocol() } });
    const { modes } = await client.request("session/new", { cwd, mcpServers: [] });
    expect(modes.availableModes.map(({ id }: { id: string }) => id)).toEqual(["default", "plan", "protocol"]);
  });

  test("of a session whose host runs no graphs any more ends the prompt with a reason", async () => {
    const { store, client, cwd, model } = await run({ replies: ["Done."], script: [] });
    const after = new TestClient({ store, models: model.models });
    await after.request("session/resume", { sessionId: client.sessionId, cwd });
    await expect(after.prompt(client.sessionId, "hello")).rejects.toMatchObject({
      message: expect.stringContaining("set another mode"),
    });
  });
});

describe("skills in the mode protocol", () => {
  const FIELDS = {
    ...({ layer: "user", trust: { status: "trusted", by: "operator" } } as const),
    ...{ short: "", description: "Deploys a canary release", whenToUse: "" },
    ...{ disableModelInvocation: false, userInvocable: true, requireSignature: false },
    ...{ paths: [], hooks: [], trustedSigners: [] },
  };
  const skillOf = (id: string, allowedTools: readonly string[] = []): Skill => ({
    ...FIELDS,
    ...{ id, name: id, origin: `/skills/${id}`, allowedTools },
  });
  const serviceOf = (skill: Skill): SkillService => ({
    find: async () => ({
      ...{ skills: [skill], warnings: [], order: {}, match: MATCH_DEFAULTS },
      ...{ cardBudget: 8_000, variables: {} },
    }),
    load: async () => ({ skill, body: "Fly high." }),
    readFile: async () => "",
  });
  const withSkill = (skill: Skill) =>
    run({
      replies: [declaring, "Done.", "Done."],
      script: [{ observation: "a" }, { over: "Done." }],
      skills: serviceOf(skill),
    });

  test("are put to use where they fit, for all requests of the turn, and dropped after", async () => {
    const { prompt, model, client } = await withSkill(skillOf("canary"));
    await prompt("roll out the canary");
    await prompt("thanks");
    expect(model.asked.map(({ system }) => system.includes("Fly high."))).toEqual([true, true, false]);
    expect(model.asked[0]?.system).not.toContain("load_skill");
    const updates = client.updates.map(({ update }) => update.sessionUpdate);
    expect(updates.filter((kind) => kind.startsWith("skill_"))).toEqual([
      "skill_activated",
      "skill_deactivated",
    ]);
  });

  test("that narrow tools are not used, because actions of graphs are not narrowed", async () => {
    const { prompt, model, client } = await withSkill(skillOf("canary", ["read_file"]));
    await prompt("roll out the canary");
    expect(model.asked[0]?.system).not.toContain("Fly high.");
    expect(client.updates.map(({ update }) => update.sessionUpdate)).not.toContain("skill_activated");
    expect(client.thought).toContain("it narrows tools");
  });
});

describe("a turn in the mode protocol", () => {
  test("shows the model the transcript in one message and offers the carrier alone", async () => {
    const { model, prompt, protocol } = await run({
      replies: [declaring, "It says a."],
      script: [{ observation: "### Result for a\n\na" }, { over: "It says a." }],
    });
    expect(await prompt("read a.txt")).toMatchObject({ stopReason: "end_turn" });
    expect(model.asked).toHaveLength(2);
    for (const { system, messages, tools } of model.asked) {
      expect(system).toContain("You are an agent that works for a person");
      expect(system).toContain("Declare with AgentProtocolOutput");
      expect(messages).toHaveLength(1);
      expect(tools.map(({ name }) => name)).toEqual(["AgentProtocolOutput"]);
    }
    const shown = JSON.stringify(model.asked[1]?.messages);
    expect(shown).toContain("read a.txt");
    expect(shown).toContain("### Result for a");
    expect(shown).not.toContain("toolCallId");
    expect(protocol.declared).toMatchObject([
      {
        text: "",
        calls: [{ name: "AgentProtocolOutput", arguments: JSON.stringify(ACT) }],
        isComplete: true,
      },
      { text: "It says a.", calls: [], isComplete: true },
    ]);
  });

  test("shows people the answer and nothing of declarations, and performs no tool itself", async () => {
    const block = '```json agent-protocol\n{"type":"agent.protocol"}\n```\n\n## user.visible\n\nI look.';
    const { client, prompt } = await run({
      replies: [block, declaring, calling("read_file", { path: "a.txt" }), "It says a."],
      script: [
        { observation: "one" },
        { observation: "two" },
        { observation: "three" },
        { over: "It says a." },
      ],
    });
    await prompt("read a.txt");
    expect(client.said).toBe("It says a.");
    expect(client.of("tool_call")).toEqual([]);
    expect(client.asked).toEqual([]);
  });

  test("hands every call of a message to the runtime, which refuses several", async () => {
    const two: ScriptedReply = [
      { type: "text", text: "Both." },
      { type: "call", id: "1", name: "AgentProtocolOutput", arguments: "{}" },
      { type: "call", id: "2", name: "AgentProtocolOutput", arguments: "{}" },
      { type: "end", stop: "tool_use" },
    ];
    const { protocol, prompt, model } = await run({
      replies: [two, "Sorry."],
      script: [{ observation: "## Protocol error\n\n2 calls" }, { over: "Sorry." }],
    });
    await prompt("do it");
    expect(protocol.declared[0]?.calls).toHaveLength(2);
    expect(JSON.stringify(model.asked[1]?.messages)).toContain("## Protocol error");
  });

  test("has every request decided, with what is new since the last", async () => {
    const { control, prompt } = await run({
      replies: [declaring, "Done."],
      script: [{ observation: "### Result for a" }, { over: "Done." }],
    });
    await prompt("read a.txt");
    expect(control.payloads("pre_prompt")).toMatchObject([
      { prompt: "read a.txt", request: 1 },
      { prompt: expect.stringContaining("### Result for a"), request: 2, tokens_used: expect.any(Number) },
    ]);
    expect(control.payloads("pre_prompt")[1].prompt).not.toContain("read a.txt");
    expect(control.charged).toHaveLength(2);
  });

  test("that is refused asks neither the model nor the runtime", async () => {
    const control = new ScriptedControl({ pre_prompt: () => ({ decision: "block", reason: "not today" }) });
    const { prompt, model, protocol, client } = await run({
      control,
      replies: ["x"],
      script: [{ over: "x" }],
    });
    expect(await prompt("read a.txt")).toMatchObject({ stopReason: "refusal" });
    expect(client.said).toContain("not today");
    expect(model.asked).toEqual([]);
    expect(protocol.turns).toEqual([]);
  });

  test("begins with the words as the supervisor changed them", async () => {
    const control = new ScriptedControl({
      pre_prompt: () => ({ decision: "modify", modified_payload: { prompt: "read b.txt" } }),
    });
    const { prompt, protocol } = await run({ control, replies: ["Done."], script: [{ over: "Done." }] });
    await prompt("read a.txt");
    expect(protocol.turns[0]).toContain("read b.txt");
    expect(protocol.turns[0]).not.toContain("read a.txt");
  });

  test("ends after as many requests as a turn may make", async () => {
    const { prompt, model } = await run({
      replies: [declaring],
      script: [{ observation: "again" }],
      limits: { requests: 3 },
    });
    expect(await prompt("go on")).toMatchObject({ stopReason: "max_turn_requests" });
    expect(model.asked).toHaveLength(3);
  });

  test.each([
    [{ contextTokens: 200_000, maxOutputTokens: 20_000 }, 560_000, 612_000],
    [{ contextTokens: 32_000, maxOutputTokens: 4_000 }, 50_000, 95_200],
    [{ contextTokens: 1_000, maxOutputTokens: 500 }, 4_000, 4_000],
  ])("shows a model with %j as much of the transcript as it has room for", async (info, least, most) => {
    const { prompt, protocol } = await run({ info, replies: ["Done."], script: [{ over: "Done." }] });
    await prompt("go");
    expect(protocol.rooms[0]).toBeGreaterThanOrEqual(least);
    expect(protocol.rooms[0]).toBeLessThanOrEqual(most);
  });

  test("shows less of the transcript where the model refuses it as too long", async () => {
    const tooLong = new ModelError("context_exceeded", "prompt is too long");
    const exceeded: ScriptedReply = [{ type: "end", stop: "context_exceeded" }];
    const script = [{ observation: "### Result for a" }, { over: "It says a." }];
    const { prompt, protocol, model, store, client } = await run({
      ...{ replies: [declaring, tooLong, exceeded, "It says a."], script },
    });
    expect(await prompt("read a.txt")).toMatchObject({ stopReason: "end_turn" });
    const [, whole = 0, half, quarter] = protocol.rooms;
    expect([half, quarter]).toEqual([Math.floor(whole / 2), Math.floor(whole / 4)]);
    const kept = JSON.stringify((await store.read(client.sessionId))?.entries);
    expect(kept.split("### Result for a")).toHaveLength(2);
    model.play(tooLong);
    await expect(prompt("again")).rejects.toMatchObject({ message: expect.stringContaining("too long") });
  });

  test("declares nothing by a message that was cut off at the model's limit", async () => {
    const cut: ScriptedReply = [
      { type: "text", text: "```json agent-protocol\n{" },
      { type: "end", stop: "max_tokens" },
    ];
    const { prompt, protocol } = await run({
      replies: [cut, cut],
      script: [{ observation: "## Protocol error" }, { over: "```json agent-protocol\n{" }],
    });
    expect(await prompt("go")).toMatchObject({ stopReason: "max_tokens" });
    expect(protocol.declared.map(({ isComplete }) => isComplete)).toEqual([false, false]);
  });

  test("asks again from the start when the connection broke off", async () => {
    const broken: ScriptedReply = [{ type: "text", text: "```json agent-pro" }];
    const { prompt, protocol, model, client } = await run({
      replies: [broken, "Hello."],
      script: [{ over: "Hello." }],
      limits: { backoffMs: 1 },
    });
    expect(await prompt("hello")).toMatchObject({ stopReason: "end_turn" });
    expect(protocol.declared).toMatchObject([{ text: "Hello.", calls: [] }]);
    expect(model.asked.map(({ messages }) => messages.length)).toEqual([1, 1]);
    expect(client.said).toBe("Hello.");
  });

  test("fails with the model's reason and leaves the session usable", async () => {
    const { prompt, protocol, model } = await run({
      replies: [new ModelError("bad_request", "no")],
      script: [{ over: "Done." }],
    });
    await expect(prompt("go")).rejects.toMatchObject({ message: expect.stringContaining("no") });
    expect(protocol.declared).toEqual([]);
    model.play("Done.");
    expect(await prompt("go")).toMatchObject({ stopReason: "end_turn" });
  });

  test("is cancelled while the runtime works, and keeps what was declared", async () => {
    const waiting: ScriptedDeclared = (_message, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const { client, prompt, protocol, store } = await run({ replies: [declaring], script: [waiting] });
    const turn = prompt("read a.txt");
    await expect.poll(() => protocol.declared.length).toBe(1);
    client.notify("session/cancel", { sessionId: client.sessionId });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    const kept = JSON.stringify((await store.read(client.sessionId))?.entries);
    expect(kept).toContain("json agent-protocol");
  });
});

describe("the history of a session in the mode protocol", () => {
  const thinking: ScriptedReply = [
    { type: "thinking", text: "SECRET REASONING" },
    { type: "thinking_end", seal: { signature: "x" } },
    { type: "text", text: "I look." },
    { type: "call", id: "c9", name: "AgentProtocolOutput", arguments: JSON.stringify(ACT) },
    { type: "end", stop: "tool_use" },
  ];

  test("shows declarations in the form of the protocol, and no private reasoning", async () => {
    const { prompt, load, model, client } = await run({
      replies: [thinking, "It says a."],
      script: [{ observation: "### Result for a" }, { over: "It says a." }],
    });
    await prompt("read a.txt");
    expect(client.thought).toContain("SECRET REASONING");
    const again = await load();
    expect(again.of("user_message_chunk")).toHaveLength(1);
    expect(again.of("tool_call")).toEqual([]);
    expect(again.said).toBe(`I look.\n\n\`\`\`json agent-protocol\n${JSON.stringify(ACT)}\n\`\`\`It says a.`);
    expect(again.thought).toBe("");
    expect(JSON.stringify(model.asked[1])).not.toContain("SECRET REASONING");
  });

  test("is the conversation of a turn in another mode, without calls of the provider", async () => {
    const { prompt, client, model } = await run({
      replies: [thinking, "It says a.", "Hello."],
      script: [{ observation: "### Result for a" }, { over: "It says a." }],
    });
    await prompt("read a.txt");
    await client.request("session/set_mode", { sessionId: client.sessionId, modeId: "default" });
    await prompt("hello");
    const { messages, tools } = model.asked[2] ?? {};
    expect(messages?.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    expect(JSON.stringify(messages)).toContain("### Result for a");
    expect(JSON.stringify(messages)).not.toContain("SECRET REASONING");
    expect(tools?.map(({ name }) => name)).toContain("read_file");
  });
});
