import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { membersOf } from "@reins/acp";
import { call, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import type { Principal } from "@reins/supervisor";
import { describe, expect, onTestFinished, test } from "vitest";
import { grantSkill, revokeSkill } from "../src/skills/skill-library.ts";
import { type NativeTest, openNative, verdictsOf } from "./fixtures/native.ts";

const CANARY =
  "---\nname: canary\ndescription: Rolls out canary releases\nallowed-tools: [read_file]\n---\nFly $1.\n";

/** A native agent whose model loads a skill when it is asked to. */
async function open(more: NativeTest = {}) {
  const load = reply(call("load_skill", { name: "canary", arguments: "high" }));
  const model = await ScriptedModel.listen({
    script: scenes(scene("load it", load, reply(say("Done."))), scene("", reply(say("Done.")))),
  });
  onTestFinished(() => model.close());
  const { url, key } = model.endpoint;
  const environment = { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key };
  const agent = await openNative({ environment, ...more });
  const write = (path: string, text: string) => {
    const file = join(agent.workspace, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
  };
  const principal = agent.harness.identity.local();
  const place = { principal, roots: [agent.workspace] };
  const find = async () => (await agent.hosting.skills.catalogue(place)).find("canary");
  const prompt = (text: string) => agent.client.prompt(agent.id, text);
  const skillUpdates = () =>
    agent.client.updates.filter(({ sessionUpdate }) => String(sessionUpdate).startsWith("skill_"));
  const asked = () => JSON.stringify(model.requests.at(-1)?.conversation ?? "");
  return { ...agent, model, write, principal, place, find, prompt, skillUpdates, asked };
}

describe("a skill that comes with a workspace", () => {
  test("is listed and not used until a person trusts its content; a changed file ends that", async () => {
    const { write, find, prompt, skillUpdates, asked, harness, principal, entries } = await open();
    write(".claude/skills/canary/SKILL.md", CANARY);
    expect((await find()).trust).toMatchObject({ status: "untrusted" });
    await prompt("roll out the canary");
    expect(asked()).not.toMatch(/canary releases|"name":"load_skill"/);
    expect(skillUpdates()).toEqual([]);

    await grantSkill(harness, principal, await find(), new Date());
    expect((await find()).trust).toMatchObject({
      status: "trusted",
      by: "grant",
      who: "user:default/operator",
    });
    await prompt("roll out the canary");
    expect(skillUpdates()).toMatchObject([
      { sessionUpdate: "skill_activated", skillName: "canary", iteration: 0 },
      { sessionUpdate: "skill_scope_tools", allowedTools: ["read_file"] },
    ]);
    expect(asked()).toContain("Fly $1.");
    expect((await entries("policy_change")).map(({ payload }) => membersOf(payload).change)).toContain(
      "skill_trusted",
    );

    write(".claude/skills/canary/more.sh", "rm -rf /");
    await prompt("roll out the canary once more");
    expect((await find()).trust.status).toBe("untrusted");
    expect(skillUpdates().at(-1)).toMatchObject({ sessionUpdate: "skill_deactivated" });
    expect(asked()).not.toContain(`"name":"load_skill"`);
  });

  test("is no longer trusted when the person takes it back; others and agents have no say", async () => {
    const { write, find, harness, principal, hosting, workspace } = await open();
    write(".agents/skills/canary/SKILL.md", CANARY);
    const skill = await find();
    const agent: Principal = { ...principal, id: "agent", kind: "agent" };
    await expect(grantSkill(harness, agent, skill, new Date())).rejects.toThrow("a person has to");
    const ann: Principal = { ...principal, id: "ann", user: "ann", roles: [] };
    await grantSkill(harness, ann, skill, new Date());
    expect((await find()).trust.status).toBe("untrusted");
    const seen = await hosting.skills.catalogue({ principal: ann, roots: [workspace] });
    expect(seen.find("canary").trust).toMatchObject({ by: "grant" });
    expect(await revokeSkill(harness, principal, skill.digest ?? "")).toBe(false);
    expect(await revokeSkill(harness, ann, skill.digest ?? "")).toBe(true);
    const after = await hosting.skills.catalogue({ principal: ann, roots: [workspace] });
    expect(after.find("canary").trust.status).toBe("untrusted");
  });
});

describe("a skill of the operator", () => {
  const RULES = `
tool_rules:
  - { name: no_skills, condition: { tool_name_matches: [load_skill], arguments: { name: other } }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }
`;

  test("is loaded by a tool call that is decided and recorded", async () => {
    const agent = await open({ rules: RULES });
    mkdirSync(join(agent.home, "skills/canary"), { recursive: true });
    writeFileSync(join(agent.home, "skills/canary/SKILL.md"), CANARY);
    await agent.prompt("load it");
    expect(agent.asked()).toContain("Fly high.");
    expect(await verdictsOf(agent)).toContainEqual(["pre_action", "load_skill", "allowed", "performed"]);
    expect(agent.skillUpdates()).toMatchObject([
      { sessionUpdate: "skill_activated", reason: "loaded by the model" },
      { sessionUpdate: "skill_scope_tools" },
    ]);
  });

  test("is not hidden by one of the workspace that is not trusted", async () => {
    const { home, write, find, hosting, place } = await open();
    mkdirSync(join(home, "skills/canary"), { recursive: true });
    writeFileSync(join(home, "skills/canary/SKILL.md"), CANARY);
    expect(await find()).toMatchObject({ layer: "user", trust: { by: "operator" } });
    write(".reins/skills/canary/SKILL.md", CANARY);
    const { shadowed } = await hosting.skills.catalogue(place);
    expect(await find()).toMatchObject({ layer: "user", trust: { by: "operator" } });
    expect(shadowed).toMatchObject([{ id: "canary", winner: "user", loser: "project" }]);
  });
});

describe("a skill of the session's client", () => {
  test("reaches the agent through the bridge", async () => {
    const methods: string[] = [];
    const { prompt, skillUpdates, asked, id } = await open({
      host: (method, params) => {
        methods.push(method);
        if (method === "skills/list")
          return { skills: [{ id: "h1", name: "canary", description: "Canary flights" }] };
        if (method === "skills/fetch")
          return { result: { body: `Fly for ${params.id} in ${params.sessionId}` } };
        return null;
      },
    });
    await prompt("the canary please");
    expect(methods.filter((method) => method.startsWith("skill"))).toEqual(["skills/list", "skills/fetch"]);
    expect(skillUpdates()).toMatchObject([{ sessionUpdate: "skill_activated", skillName: "canary" }]);
    expect(asked()).toContain(`Fly for h1 in ${id}`);
  });
});
