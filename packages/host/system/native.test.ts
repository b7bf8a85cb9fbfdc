import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { membersOf } from "@reins/acp";
import { call, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { textIn } from "./fixtures/home.ts";
import { openNative, verdictsOf } from "./fixtures/native.ts";

describe("the native agent with no key", () => {
  test("looks around, which is allowed and performed by Reins", async () => {
    const agent = await openNative();
    await writeFile(join(agent.workspace, "README.md"), "# Heather\n");
    expect(await agent.client.prompt(agent.id, "what is in this folder?")).toMatchObject({
      stopReason: "end_turn",
    });
    expect(agent.client.said.join("")).toContain("README.md");
    const decided = await verdictsOf(agent);
    expect(decided).toContainEqual(["pre_action", "list_files", "allowed", "performed"]);
    expect(decided.filter(([type]) => type === "pre_prompt").length).toBeGreaterThanOrEqual(2);
    expect(agent.client.asked).toEqual([]);
  });

  test("is stopped where a person says no, and goes on where one says yes", async () => {
    const refused = await openNative();
    await writeFile(join(refused.workspace, "package.json"), "{}");
    await refused.client.prompt(refused.id, "run the tests");
    expect(refused.client.asked).toHaveLength(1);
    expect(refused.client.said.join("")).toContain("not");
    const written = await openNative({ person: () => "allow_once" });
    await written.client.prompt(written.id, "write a file named hello.txt");
    expect(await textIn(join(written.workspace, "hello.txt"))).toBeDefined();
  });
});

describe("the tools that a model is offered", () => {
  const offersOf = async ({ entries }: Awaited<ReturnType<typeof openNative>>) =>
    (await entries("policy_verdict"))
      .map(({ payload }) => membersOf(payload))
      .filter(({ event_type }) => event_type === "tool_offer");

  test("are one entry for a session, with what is withheld and why, and another when the policy changes", async () => {
    const rules = `
tool_rules:
  - { name: no_deleting, condition: { tool_name_matches: [delete_file] }, verdict: blocked, reason: keep it }
  - { name: rest, condition: {}, verdict: allowed }
`;
    const agent = await openNative({ rules });
    for (const prompt of ["hello", "what is in this folder?", "hello"])
      await agent.client.prompt(agent.id, prompt);
    const [first, ...others] = await offersOf(agent);
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      verdict: "modify",
      withheld: [{ tool: "delete_file", rule: "no_deleting", reason: "keep it" }],
      rules_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(first?.offered).toContainEqual({ tool: "list_files", verdict: "allowed", rule: "rest" });
    await writeFile(join(agent.home, "constitution.yaml"), rules.replace("delete_file", "delete_file, bash"));
    await agent.harness.policies.refresh();
    await agent.harness.policies.accept("default", "operator");
    await agent.client.prompt(agent.id, "hello");
    expect(await offersOf(agent)).toHaveLength(2);
  });

  test("take no entry of later turns: one with one tool call has at most six", async () => {
    const agent = await openNative();
    // The first look at the workspace is decided; while nothing changes, its verdicts stand.
    await agent.client.prompt(agent.id, "what is in this folder?");
    const count = async () => (await agent.harness.ledger.read({ limit: 500 })).length;
    const before = await count();
    await agent.client.prompt(agent.id, "what is in this folder?");
    await expect.poll(async () => (await agent.entries("turn")).length).toBe(2);
    const added = (await agent.harness.ledger.read({ limit: 500 })).slice(before).map(({ entry }) => entry);
    expect(added.filter(({ quality }) => quality === "tool_call")).toHaveLength(1);
    const kinds = added.map(({ quality, payload }) => [quality, membersOf(payload).event_type]);
    expect(kinds.length, JSON.stringify(kinds)).toBeLessThanOrEqual(6);
  });
});

describe("a model that was asked for by name and cannot run", () => {
  test("is one clear error, on record, after which the session can be used with another", async () => {
    const agent = await openNative({ environment: { REINS_MODEL: "openai:gpt-6-sol" } });
    await expect(agent.client.prompt(agent.id, "hello")).rejects.toThrow(
      "openai:gpt-6-sol needs a key or an address; set OPENAI_API_KEY or OPENAI_BASE_URL",
    );
    const set = { sessionId: agent.id, configId: "model", value: "demo" };
    await agent.client.request("session/set_config_option", set);
    expect(await agent.client.prompt(agent.id, "hello")).toMatchObject({ stopReason: "end_turn" });
    expect((await agent.entries("turn")).map(({ payload }) => membersOf(payload).stop_reason)).toEqual([
      "error",
      "end_turn",
    ]);
  });
});

describe("a rule about prompts", () => {
  test("that changes them has the model told what it says instead", async () => {
    const agent = await openNative({
      rules: `
tool_rules:
  - name: in_other_words
    condition: { event: pre_prompt }
    verdict: modify
    patch: { prompt: hello }
  - { name: rest, condition: {}, verdict: allowed }
`,
    });
    await agent.client.prompt(agent.id, "what is in this folder?");
    expect((await verdictsOf(agent)).filter(([type]) => type === "pre_prompt")).toEqual([
      ["pre_prompt", "", "modify", "performed"],
    ]);
    expect(agent.client.said.join("")).toContain("demo");
  });
});

describe("a rule that changes a call", () => {
  test("has it done as changed, and says so", async () => {
    const agent = await openNative({
      rules: `
tool_rules:
  - name: elsewhere
    condition: { tool_name_matches: [write_file], arguments: { path: hello.txt } }
    verdict: modify
    patch: { path: drafts/hello.txt }
  - { name: rest, condition: {}, verdict: allowed }
`,
    });
    await agent.client.prompt(agent.id, "write a file named hello.txt");
    expect(await textIn(join(agent.workspace, "hello.txt"))).toBeUndefined();
    expect(await textIn(join(agent.workspace, "drafts", "hello.txt"))).toBe("Hello from Reins.\n");
    expect(await verdictsOf(agent)).toContainEqual(["pre_action", "write_file", "modify", "performed"]);
    const [call] = await agent.entries("tool_call");
    expect(membersOf(membersOf(call?.payload).arguments).path).toBe("drafts/hello.txt");
  });
});

describe("the plan of a turn", () => {
  test("is on record once, under the turn's own name", async () => {
    const agent = await openNative({ person: () => "allow_once" });
    const noted: unknown[] = [];
    agent.harness.runs.subscribe(({ contract, run_id }) => {
      if (contract === "task_list") noted.push(run_id);
    });
    await agent.client.prompt(agent.id, "please do this:\n- write a file a.txt\n- write a file b.txt");
    await agent.harness.runs.list(agent.harness.identity.local());
    const [turn] = await agent.entries("turn");
    expect(noted.length).toBeGreaterThan(0);
    expect(new Set(noted)).toEqual(new Set([(turn?.payload as { turn?: string } | undefined)?.turn]));
    const plans = agent.client.got.filter(({ message }) =>
      JSON.stringify(message).includes('"sessionUpdate":"plan"'),
    );
    expect(noted).toHaveLength(plans.length);
  });
});

describe("commands of a session", () => {
  test("in the background have a verdict for their start, and end with the session", async () => {
    const command = "echo $$ > pid; exec sleep 600";
    const model = await ScriptedModel.listen({
      script: scenes(
        scene("SERVE", reply(call("run_command", { command, background: true })), reply(say("It runs."))),
      ),
    });
    onTestFinished(() => model.close());
    const { url, key } = model.endpoint;
    const agent = await openNative({
      person: () => "allow_once",
      environment: { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
      native: { environment: { GREETING: "hello" } },
    });
    await agent.client.prompt(agent.id, "SERVE");
    const pid = Number(await textIn(join(agent.workspace, "pid")));
    const isAlive = async () => !/^$|\) Z /.test((await textIn(`/proc/${pid}/stat`)) ?? "");
    expect(await isAlive()).toBe(true);
    expect(await textIn(`/proc/${pid}/environ`)).toContain("GREETING=hello");
    await agent.client.request("session/close", { sessionId: agent.id });
    await expect.poll(isAlive).toBe(false);
    expect((await verdictsOf(agent)).filter(([, tool]) => tool === "run_command")).toHaveLength(1);
  });
});
