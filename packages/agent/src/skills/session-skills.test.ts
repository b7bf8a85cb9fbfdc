import { RpcError } from "@reins/acp";
import { MATCH_DEFAULTS, type Skill, SkillError } from "@reins/bridge";
import { describe, expect, test } from "vitest";
import { calling, ScriptedModel } from "../../test/scripted-model.ts";
import { type Loose, TestClient } from "../../test/test-client.ts";
import { testWorkspace } from "../../test/workspace.ts";
import { VolatileSessionStore } from "../history/session-store.ts";
import type { FoundSkills, SkillService } from "./session-skills.ts";

function skillWith(id: string, more: Partial<Skill> = {}): Skill {
  return {
    ...{ id, name: id, layer: "user", origin: `/skills/${id}`, short: id, description: id, whenToUse: "" },
    ...{ disableModelInvocation: false, userInvocable: true, requireSignature: false },
    ...{ allowedTools: [], paths: [], hooks: [], trustedSigners: [] },
    trust: { status: "trusted", by: "operator" },
    ...more,
  };
}

const DEPLOY = skillWith("deploy", {
  description: "Deploys a canary release",
  allowedTools: ["run_command"],
});
const REVIEW = skillWith("review", { description: "Reviews diffs", whenToUse: "A diff is shown" });
const MANUAL = skillWith("manual", { description: "Rotates secrets", disableModelInvocation: true });
const EVIL = skillWith("evil", {
  description: "Canary canary canary",
  trust: { status: "untrusted", reason: "it comes with the workspace" },
});

/** A library that can be changed between turns. */
function libraryOf(skills: readonly Skill[], more: Partial<FoundSkills> = {}) {
  const state = { skills, more };
  const service: SkillService = {
    find: async () => ({
      ...{ skills: state.skills, warnings: [], order: {}, match: MATCH_DEFAULTS },
      ...{ cardBudget: 8_000, variables: {}, ...state.more },
    }),
    load: async (_, skill) => {
      const now = state.skills.find(({ id }) => id === skill.id);
      if (!now || now.trust.status === "untrusted")
        throw new SkillError("untrusted", `${skill.id} is not trusted`);
      return { skill: now, body: `How to ${skill.id} $1 in \${REINS_SKILL_DIR}`, files: ["api.md"] };
    },
    readFile: async (_, skill, path) => {
      if (path !== "api.md") throw new SkillError("unknown", `${skill.id} has no file ${path}`);
      return `The reference of ${skill.id}`;
    },
  };
  return { state, service };
}

const HOST = { _meta: { reins: { bridge: {} } } };

async function open(service: SkillService | undefined, capabilities: object = {}) {
  const { cwd } = await testWorkspace({ "a.txt": "text" });
  const model = new ScriptedModel(["Done."]);
  const store = new VolatileSessionStore();
  const services = service ? { skills: service } : {};
  const client = new TestClient({ models: model.models, store, services });
  await client.request("initialize", { protocolVersion: 1, clientCapabilities: capabilities });
  const { sessionId } = await client.request("session/new", { cwd, mcpServers: [] });
  const prompt = (text: string) => client.prompt(sessionId, text);
  const updates = () =>
    client.updates
      .map(({ update }) => update)
      .filter(({ sessionUpdate }) => sessionUpdate.startsWith("skill_"));
  const shown = (request: number) => JSON.stringify(model.asked.at(request)?.messages);
  const tools = (request: number) => model.asked.at(request)?.tools.map(({ name }) => name);
  return { client, model, store, services, sessionId, cwd, prompt, updates, shown, tools };
}

describe("skills of a session", () => {
  test("are shown as cards, put to use where they fit, and dropped after", async () => {
    const { prompt, model, updates, shown, tools } = await open(
      libraryOf([DEPLOY, REVIEW, MANUAL, EVIL]).service,
    );
    await prompt("roll out the canary");
    expect(model.asked[0]?.system).toContain("- deploy: deploy");
    expect(model.asked[0]?.system).not.toMatch(/manual|evil/);
    expect(updates()).toEqual([
      {
        sessionUpdate: "skill_activated",
        skillName: "deploy",
        iteration: 0,
        reason: expect.stringContaining("canary"),
      },
      { sessionUpdate: "skill_scope_tools", skillName: "deploy", allowedTools: ["run_command"] },
    ]);
    expect(shown(0)).toContain("How to deploy $1 in /skills/deploy");
    expect(tools(0)).toEqual(["run_command", "load_skill", "update_plan"]);
    await prompt("thank you");
    expect(updates().slice(2)).toEqual([
      { sessionUpdate: "skill_deactivated", skillName: "deploy", iteration: 0 },
    ]);
    expect(tools(1)).toContain("write_file");
  });

  test("are loaded by the model, governed like any tool, and scope what follows", async () => {
    const { client, prompt, model, updates, tools } = await open(libraryOf([DEPLOY]).service);
    model.play(
      calling("load_skill", { name: "deploy", arguments: "v2" }),
      calling("write_file", {}, "c2"),
      "Done.",
    );
    await prompt("hello");
    expect(client.asked).toMatchObject([
      { name: "load_skill", kind: "read", rawInput: { name: "deploy", arguments: "v2" } },
    ]);
    expect(JSON.stringify(model.asked[1]?.messages)).toContain("How to deploy v2 in /skills/deploy");
    expect(updates()).toMatchObject([
      { sessionUpdate: "skill_activated", skillName: "deploy", iteration: 0, reason: "loaded by the model" },
      { sessionUpdate: "skill_scope_tools" },
    ]);
    expect(tools(1)).not.toContain("write_file");
    expect(JSON.stringify(model.asked[2]?.messages)).toContain("there is no tool write_file here");
  });

  test.each([
    ["evil", "not trusted"],
    ["manual", "only a person may use manual"],
    ["none", "there is no skill none"],
  ])("do not load %s for a model", async (name, reason) => {
    const { prompt, model, updates } = await open(libraryOf([DEPLOY, MANUAL, EVIL]).service);
    model.play(calling("load_skill", { name }), "Done.");
    await prompt("hello");
    expect(JSON.stringify(model.asked[1]?.messages)).toContain(reason);
    expect(updates()).toEqual([]);
  });

  test("have files that the model reads by the names that come with the instructions", async () => {
    const { prompt, model, shown } = await open(libraryOf([DEPLOY, MANUAL, EVIL]).service);
    const read = (name: string, file: string) => calling("load_skill", { name, file });
    model.play(
      ...[calling("load_skill", { name: "deploy" }), read("deploy", "api.md"), read("deploy", "../../etc")],
      ...[read("manual", "api.md"), read("evil", "api.md"), "Done."],
    );
    await prompt("hello");
    expect(shown(1)).toContain("load_skill reads them for you with `file`: api.md.");
    expect(shown(2)).toContain("The reference of deploy");
    expect(shown(3)).toContain("deploy has no file ../../etc");
    expect(shown(4)).toContain("only a person may use manual");
    expect(shown(5)).toContain("evil may not be used");
    expect(shown(5)).not.toMatch(/reference of (?:manual|evil)/);
    model.play(read("manual", "api.md"), "Done.");
    await prompt("/manual now");
    expect(shown(-1)).toContain("The reference of manual");
  });

  test("are called by a person with arguments, also those that are not for models", async () => {
    const { prompt, updates, shown } = await open(
      libraryOf([MANUAL, skillWith("closed", { disableModelInvocation: true, userInvocable: false })])
        .service,
    );
    await prompt("/manual now please");
    expect(updates()).toMatchObject([{ skillName: "manual", reason: "called by the user" }]);
    expect(shown(0)).toContain("How to manual now in");
    await prompt("/closed");
    expect(updates().at(-1)).toMatchObject({ sessionUpdate: "skill_deactivated" });
  });

  test("are not called by a bare name that stands for several, and report what takes an operator's place", async () => {
    const granted = { status: "trusted", by: "grant", who: "ann" } as const;
    const ofPackage = skillWith("aaa/ship", { name: "ship", layer: "package", trust: granted });
    const ours = skillWith("acme/ship", { name: "ship", layer: "system" });
    const displacing = skillWith("review", { layer: "project", trust: granted, origin: "/w/review" });
    const { prompt, updates, client } = await open(libraryOf([ofPackage, ours, displacing, REVIEW]).service);
    await prompt("/ship it");
    expect(updates()).toMatchObject([{ skillName: "acme/ship", reason: expect.stringContaining("named") }]);
    const notices = JSON.stringify(client.updates);
    expect(notices).toContain("/w/review: review of the layer project takes the place of the operator's");
    await prompt("/aaa/ship it");
    expect(updates().at(-1)).toMatchObject({ skillName: "aaa/ship", reason: "called by the user" });
  });

  test("are not offered where there are none", async () => {
    const { prompt, tools, model } = await open(libraryOf([EVIL, MANUAL]).service);
    await prompt("canary");
    expect(tools(0)).not.toContain("load_skill");
    expect(model.asked[0]?.system).not.toContain("load_skill");
  });

  test("end when they are no longer trusted, and when a turn no longer finds them", async () => {
    const { state, service } = libraryOf([DEPLOY]);
    const { prompt, updates, tools } = await open(service);
    await prompt("canary");
    state.skills = [{ ...DEPLOY, trust: { status: "untrusted", reason: "it changed" } }];
    await prompt("canary again");
    expect(updates().at(-1)).toMatchObject({ sessionUpdate: "skill_deactivated", skillName: "deploy" });
    expect(tools(1)).toContain("write_file");
  });

  test("stay in use when the session is loaded by another process", async () => {
    const { service } = libraryOf([DEPLOY]);
    const first = await open(service);
    await first.prompt("canary");
    const model = new ScriptedModel(["Done."]);
    const client = new TestClient({
      models: model.models,
      store: first.store,
      services: { skills: service },
    });
    await client.request("initialize", { protocolVersion: 1 });
    await client.request("session/resume", { sessionId: first.sessionId, cwd: first.cwd, mcpServers: [] });
    await client.prompt(first.sessionId, "the canary once more");
    expect(client.of("skill_activated")).toEqual([]);
    await client.prompt(first.sessionId, "thanks");
    expect(client.of("skill_deactivated")).toMatchObject([{ skillName: "deploy" }]);
    expect(JSON.stringify([...client.messages, ...first.client.messages])).not.toContain("skill_matched");
    const stored = await first.store.read(first.sessionId);
    expect(stored?.entries).toContainEqual(
      expect.objectContaining({ kind: "skill_matched", active: ["deploy"] }),
    );
  });

  test("are matched with every request where they are not sticky", async () => {
    const match = { ...MATCH_DEFAULTS, sticky: false };
    const ts = skillWith("ts", { description: "x", paths: ["*.txt"] });
    const { prompt, model, updates } = await open(libraryOf([ts], { match }).service);
    model.play(calling("read_file", { path: "a.txt" }), "Done.");
    await prompt("hello");
    expect(updates()).toMatchObject([{ sessionUpdate: "skill_activated", skillName: "ts", iteration: 1 }]);
    expect(JSON.stringify(model.asked[1]?.messages)).toContain("How to ts");
  });

  test("that cannot be found or read cost a turn nothing but a warning", async () => {
    const failing: SkillService = {
      find: () => Promise.reject(new Error("the disk is gone")),
      load: () => Promise.reject(new Error("gone")),
      readFile: () => Promise.reject(new Error("gone")),
    };
    const broken = await open(failing);
    expect(await broken.prompt("hello")).toMatchObject({ stopReason: "end_turn" });
    expect(broken.client.thought).toContain("the disk is gone");
    const unreadable = await open({ ...libraryOf([DEPLOY]).service, load: failing.load });
    expect(await unreadable.prompt("canary")).toMatchObject({ stopReason: "end_turn" });
    expect(unreadable.updates()).toEqual([]);
    await unreadable.prompt("canary");
    expect(unreadable.client.thought.match(/gone/g)).toHaveLength(1);
  });
});

describe("skills of a host", () => {
  const LIST = [{ id: "acme/canary", name: "canary", description: "Canary releases", source: "host" }];
  const BODY = { name: "canary", body: "How to fly $ARGUMENTS", allowed_tools: ["read_file"] };

  test("are not asked for where the client is no host", async () => {
    const { client, prompt } = await open(undefined);
    await prompt("hello");
    expect(client.messages.filter(({ method }) => method === "skills/list")).toEqual([]);
  });

  test("are listed, matched, fetched and scoped; skills/update counts at the next turn", async () => {
    const { client, prompt, updates, shown, tools, sessionId } = await open(
      libraryOf([REVIEW]).service,
      HOST,
    );
    const asked: string[] = [];
    let list: Loose = { skills: LIST };
    client.serve = (method, params) => {
      if (method.startsWith("skills/")) asked.push(method);
      expect(params.sessionId).toBe(sessionId);
      return { result: method === "skills/list" ? list : BODY };
    };
    await prompt("the canary");
    expect(asked).toEqual(["skills/list", "skills/fetch"]);
    expect(updates()).toMatchObject([{ skillName: "acme/canary" }, { allowedTools: ["read_file"] }]);
    expect(shown(0)).toContain("How to fly");
    expect(tools(0)).toEqual(["read_file", "load_skill", "update_plan"]);
    await prompt("the canary");
    expect(asked).toHaveLength(2);
    expect(tools(1)).toEqual(["read_file", "load_skill", "update_plan"]);
    list = [];
    client.notify("skills/update", { sessionId });
    await prompt("the canary");
    expect(asked).toEqual(["skills/list", "skills/fetch", "skills/list"]);
    expect(updates().at(-1)).toMatchObject({ sessionUpdate: "skill_deactivated" });
  });

  test("never hide those of the operator", async () => {
    const { client, prompt, shown } = await open(libraryOf([DEPLOY]).service, HOST);
    client.serve = (method) =>
      method === "skills/list" ? [{ name: "deploy", description: "canary" }] : { body: "the host's own" };
    await prompt("canary");
    expect(shown(0)).toContain("How to deploy");
    expect(shown(0)).not.toContain("the host's own");
  });

  test("are matched by the host where it is configured; its errors fall back to the ranker", async () => {
    const match = { ...MATCH_DEFAULTS, strategy: "host" };
    const { client, prompt, updates } = await open(libraryOf([DEPLOY, REVIEW], { match }).service, HOST);
    const requests: Loose[] = [];
    let reply: unknown = { matches: [{ name: "unknown" }, { name: "review", score: 0.9, reason: "close" }] };
    client.serve = (method, params) => {
      if (method !== "skill/match") return [];
      requests.push(params);
      if (reply instanceof Error) throw reply;
      return reply;
    };
    await prompt("canary");
    expect(requests).toMatchObject([
      { strategy: "host", prompt: "canary", candidates: [{ name: "deploy" }, { name: "review" }] },
    ]);
    expect(updates()).toMatchObject([{ skillName: "review", reason: "close" }]);
    reply = new RpcError(-32_000, "no vectors today");
    await prompt("canary");
    expect(updates().slice(1)).toMatchObject([
      { sessionUpdate: "skill_deactivated", skillName: "review" },
      { sessionUpdate: "skill_activated", skillName: "deploy" },
      { sessionUpdate: "skill_scope_tools" },
    ]);
    expect(client.thought).toContain("agent.skill_match: the host did not match skills");
  });

  test.each([
    [
      "errors",
      () => {
        throw new RpcError(-32_000, "no");
      },
    ],
    ["nonsense", () => 42],
    ["entries without a name", () => [{ id: "x" }, 5]],
  ])("that answers with %s costs a turn nothing", async (_, serve) => {
    const { client, prompt } = await open(libraryOf([DEPLOY]).service, HOST);
    client.serve = serve;
    expect(await prompt("canary")).toMatchObject({ stopReason: "end_turn" });
    expect(client.thought).toContain("skills/list");
  });

  test("cannot widen what a session may use", async () => {
    const { cwd } = await testWorkspace({});
    const model = new ScriptedModel(["Done."]);
    const client = new TestClient({ models: model.models, mayUse: (tool) => tool === "read_file" });
    client.serve = (method) =>
      method === "skills/list" ? LIST : { body: "x", allowed_tools: ["*", "run_command", "namespace:mcp"] };
    await client.request("initialize", { protocolVersion: 1, clientCapabilities: HOST });
    const { sessionId } = await client.request("session/new", { cwd, mcpServers: [] });
    await client.prompt(sessionId, "canary");
    expect(client.of("skill_activated")).toHaveLength(1);
    expect(model.asked[0]?.tools.map(({ name }) => name)).toEqual(["read_file"]);
  });
});
