import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StoredMemory } from "@reins/bridge";
import type { Conversation } from "@reins/scripted-model";
import { type ModelStep, refuse, reply, ScriptedModel, say } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryOwner } from "../src/native/advisers.ts";
import { answeringHarness } from "./fixtures/answering-harness.ts";
import { openNative, verdictsOf } from "./fixtures/native.ts";

const rules = (url: string, fail = "closed") => `
tool_rules:
  - { name: rest, condition: {}, verdict: allowed }
harnesses:
  - { name: own, url: "${url}", fail: ${fail} }
`;

/** A native agent whose model repeats its prompt. */
async function overheard(
  options: Parameters<typeof openNative>[0] = {},
  step: (conversation: Conversation) => ModelStep = () => reply(say("Good.")),
) {
  const model = await ScriptedModel.listen({ script: step });
  onTestFinished(() => model.close());
  const { url, key } = model.endpoint;
  const environment = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key };
  const agent = await openNative({ environment, ...options });
  const heard = () => JSON.stringify(model.requests.map(({ conversation }) => conversation));
  return { ...agent, heard };
}

describe("what a model gets beside the prompt, by default", () => {
  test("is what the workspace says, as far as it may be read, what was remembered, and what the constitution says", async () => {
    const agent = await overheard();
    await writeFile(join(agent.workspace, "README.md"), "# Heather\n\nCounts flowers in the fields.\n");
    await writeFile(join(agent.workspace, ".env"), "FLOWERS=forget-me-not\n");
    await writeFile(
      join(agent.home, "constitution.md"),
      "# Rules\n\n1. Flowers are counted, never picked.\n",
    );
    const owner = memoryOwner(agent.harness.identity.local());
    const memory = new StoredMemory({ store: agent.harness.store, owner });
    await memory.remember({
      content: "the flowers bloom in May",
      source: "person",
      workspace: agent.workspace,
    });
    await agent.client.prompt(agent.id, "fix the way flowers are counted in .env and README.md");
    expect(agent.heard()).toContain("Counts flowers in the fields.");
    expect(agent.heard()).toContain("the flowers bloom in May");
    expect(agent.heard()).toContain("Flowers are counted, never picked.");
    expect(agent.heard()).not.toContain("forget-me-not");
  });
});

describe("what a model gets of the workspace", () => {
  const ALL = "{ name: all, condition: {}, verdict: allowed }";
  const README = "# Heather\n\nCounts flowers in the fields.\n";
  const flowers = "Counts flowers in the fields.";

  test("has a verdict on record for each file, once while file and policy are the same", async () => {
    const agent = await overheard({ rules: `tool_rules: [${ALL}]` });
    const readme = join(agent.workspace, "README.md");
    await writeFile(readme, README);
    const reads = async () =>
      (await agent.entries("policy_verdict"))
        .map(({ target, payload }) => ({ target, ...Object(payload) }))
        .filter(({ target, event_type }) => event_type === "pre_action" && target === "read_file")
        .map((verdict) => JSON.stringify(verdict));
    await agent.client.prompt(agent.id, "fix the way flowers are counted");
    expect(agent.heard()).toContain(flowers);
    const first = await reads();
    expect(first.filter((verdict) => verdict.includes("README.md"))).toHaveLength(1);
    await agent.client.prompt(agent.id, "fix the way flowers are counted");
    expect(await reads()).toEqual(first);
    await writeFile(readme, `${README}And bees.\n`);
    await agent.client.prompt(agent.id, "fix the way flowers are counted");
    expect((await reads()).length).toBe(first.length + 1);
  });

  test("is nothing that a harness of the operator's or a limit blocks", async () => {
    const own = await answeringHarness({ pre_action: () => ({ decision: "block", reason: "no action" }) });
    const limits =
      "limits: [{ name: none, per: user, within: 1h, calls: 0, condition: { event: pre_action } }]";
    for (const more of [`harnesses: [{ name: own, url: "${own.url}" }]`, limits]) {
      const agent = await overheard({ rules: `tool_rules: [${ALL}]\n${more}` });
      await writeFile(join(agent.workspace, "README.md"), README);
      await agent.client.prompt(agent.id, "fix the way flowers are counted");
      expect(agent.heard()).toContain("fix the way");
      expect(agent.heard()).not.toContain(flowers);
      expect(await verdictsOf(agent)).toContainEqual(["pre_action", "read_file", "blocked", "performed"]);
    }
  });

  test("is nothing that a person would have to be asked about", async () => {
    const ask = "{ name: ask, condition: { tool_name_matches: [read_file] }, verdict: ask }";
    const agent = await overheard({ rules: `tool_rules: [${ask}, ${ALL}]` });
    await writeFile(join(agent.workspace, "README.md"), README);
    await agent.client.prompt(agent.id, "fix the way flowers are counted");
    expect(agent.heard()).not.toContain(flowers);
    expect(agent.client.got.some(({ message }) => message.method === "session/request_permission")).toBe(
      false,
    );
  });

  test.each([
    ["context_perception", flowers],
    ["memory_recall", "the flowers bloom in May"],
    ["planning", "update_plan, then do them"],
    ["reasoning", "Flowers are counted, never picked."],
    ["intent_detection", flowers],
  ])("misses the advice of %s where a rule blocks that event", async (event, advice) => {
    const prompt = async (rules: string) => {
      const agent = await overheard({ rules: `tool_rules: [${rules}${ALL}]` });
      await writeFile(join(agent.workspace, "README.md"), README);
      await writeFile(
        join(agent.home, "constitution.md"),
        "# Rules\n\n1. Flowers are counted, never picked.\n",
      );
      const owner = memoryOwner(agent.harness.identity.local());
      const memory = new StoredMemory({ store: agent.harness.store, owner });
      const content = "the flowers bloom in May";
      await memory.remember({ content, source: "person", workspace: agent.workspace });
      await agent.client.prompt(agent.id, "fix the way flowers are counted");
      return agent;
    };
    const blocked = await prompt(`{ name: no, condition: { event: ${event} }, verdict: blocked }, `);
    const hints = (agent: typeof blocked) => agent.heard().split(advice).length;
    expect(hints(blocked)).toBeLessThan(hints(await prompt("")));
    expect(await verdictsOf(blocked)).toContainEqual([event, "", "blocked", "performed"]);
  });
});

describe("a harness of the operator's own", () => {
  test("answers in place of each default that it says it answers, and of no other", async () => {
    const own = await answeringHarness({
      intent_detection: () => ({ decision: "allow", detected_intent: "fix", confidence: 1 }),
      context_perception: () => ({
        decision: "allow",
        injected_context: { facts: [{ content: "seen from outside", source: "own", confidence: 1 }] },
      }),
      memory_recall: () => ({
        decision: "allow",
        injected_facts: [{ content: "remembered outside", source: "own", confidence: 1 }],
      }),
      reasoning: () => ({ decision: "allow", hints: ["hinted from outside"] }),
    });
    const agent = await overheard({ rules: rules(own.url) });
    await agent.client.prompt(agent.id, "fix the count");
    for (const words of ["seen from outside", "remembered outside", "hinted from outside"])
      expect(agent.heard()).toContain(words);
    expect(agent.heard()).toContain("update_plan, then do them");
    expect(own.asked).not.toContain("planning");
  });

  test("may plan something else, or refuse what is wanted", async () => {
    const own = await answeringHarness({
      intent_detection: ({ prompt }) =>
        String(prompt).includes("war")
          ? { decision: "block", reason: "not here" }
          : { decision: "allow", detected_intent: "fix", confidence: 1 },
      planning: () => ({ decision: "modify", modified_task: "count the bees", hints: [] }),
    });
    const agent = await overheard({ rules: rules(own.url) });
    await agent.client.prompt(agent.id, "count the flowers");
    expect(agent.heard()).toContain("count the bees");
    expect(agent.heard()).not.toContain("count the flowers");
    expect(await agent.client.prompt(agent.id, "plan a war")).toMatchObject({ stopReason: "refusal" });
    expect(agent.client.said.join("")).toContain("not here");
  });

  test("gets reports of what went well and what did not, by our names", async () => {
    const own = await answeringHarness({});
    const environment = { REINS_MODEL: "claude-sonnet-5-5" };
    const agent = await overheard({ rules: rules(own.url), environment });
    await expect(agent.client.prompt(agent.id, "hello")).rejects.toThrow("needs a key");
    await expect.poll(() => own.told).toHaveLength(1);
    expect(own.told[0]).toMatchObject({
      event_type: "error",
      session_id: agent.id,
      agent_id: "native",
      depth: 0,
      payload: {
        session_id: agent.id,
        code: "not_configured",
        message: expect.stringContaining("needs a key"),
      },
    });
    await agent.client.request("session/set_config_option", {
      ...{ sessionId: agent.id, configId: "model", value: "demo" },
    });
    await agent.client.prompt(agent.id, "hello");
    await expect.poll(() => own.told.map(({ event_type }) => event_type)).toEqual(["error", "success"]);
    await expect
      .poll(async () => (await agent.harness.reports.list()).map(({ kind, session }) => [kind, session]))
      .toEqual(
        expect.arrayContaining([
          ["error", agent.id],
          ["success", agent.id],
        ]),
      );
  });

  test("decides about limits of the model", async () => {
    const own = await answeringHarness({
      rate_limit: () => ({ decision: "skip", reason: "no money left" }),
    });
    const agent = await overheard({ rules: rules(own.url) }, () => refuse(429, "slow down", 1));
    await expect(agent.client.prompt(agent.id, "hello")).rejects.toThrow("no money left");
    expect(own.asked).toContain("rate_limit");
  });

  test("that answers nonsense ends the turn where it must answer, and is done without where it need not", async () => {
    const own = await answeringHarness({ intent_detection: () => ({ decision: "perhaps" }) });
    const closed = await overheard({ rules: rules(own.url) });
    await expect(closed.client.prompt(closed.id, "fix it")).rejects.toThrow(
      'the harness "own" did not answer',
    );
    expect(closed.heard()).toBe("[]");
    const open = await overheard({ rules: rules(own.url, "open") });
    expect(await open.client.prompt(open.id, "fix it")).toMatchObject({ stopReason: "end_turn" });
  });
});
