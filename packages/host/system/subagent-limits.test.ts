import { join } from "node:path";
import { membersOf } from "@reins/acp";
import { call, reply, ScriptedModel, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { bash, govern } from "./fixtures/governed.ts";
import { openTestHome, type TestHome } from "./fixtures/home.ts";
import { openTestHub, stubEntry, TestClient } from "./fixtures/hub.ts";
import { openNative } from "./fixtures/native.ts";

const ALL = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n";

/** The limits of a child that may use two calls, of some tools. */
async function descentIn(
  { harness: { identity }, workspace }: TestHome,
  childAgent: string,
  tools?: string[],
) {
  const { session_token: token } = await identity.delegate({
    ...{ principal: identity.local(), hosted: true, childAgent, task: "t", scopes: ["*"] },
    ...{ parentSession: "p", parentAgent: "reins" },
  });
  const allowance = { calls: 2, tokens: 1_000 };
  return { parent: "p", token, depth: 1, roots: [workspace], allowance, ...(tools && { tools }) };
}

async function child() {
  const home = await openTestHome({ rules: ALL });
  const governed = await govern({ home });
  const descent = await descentIn(home, "claude");
  const params = { cwd: governed.workspace, mcpServers: [] };
  const { signal } = new AbortController();
  const { sessionId } = membersOf(
    await governed.governor.request("session/new", params, { signal, descent }),
  );
  return { ...governed, id: String(sessionId) };
}

describe("the calls of a child are counted", () => {
  test("by what was allowed, under one id and by any performer", async () => {
    const { prompt, id, workspace } = await child();
    await prompt(id, async ({ ask, request }) => {
      const path = join(workspace, "a.txt");
      expect(await request("fs/write_text_file", { path, content: "x" })).toEqual({});
      const answers: unknown[] = [];
      for (let index = 0; index < 3; index += 1) answers.push(await ask(bash(`ls ${index}`, "same")));
      expect(answers).toEqual(["allow_once", "reject_once", "reject_once"]);
      await expect(request("fs/write_text_file", { path, content: "y" })).rejects.toThrow(
        "the task's 2 calls are used up",
      );
      return undefined;
    });
  });

  test("also where many are asked for at once", async () => {
    const { prompt, id } = await child();
    await prompt(id, async ({ request }) => {
      const writes = Array.from({ length: 8 }, (_, index) =>
        request("fs/read_text_file", { path: `/nowhere/${index}` }).catch((error: Error) => error.message),
      );
      const refused = (await Promise.all(writes)).filter((answer) => String(answer).includes("are used up"));
      expect(refused).toHaveLength(6);
      return undefined;
    });
  });
});

describe("a child", () => {
  test("shares no process with another session, in which its agent could speak", async () => {
    const home = await openTestHome({ rules: ALL });
    const governed = await govern({ home });
    const descent = await descentIn(home, "claude", ["Read"]);
    await governed.begin();
    const params = { cwd: governed.workspace, mcpServers: [] };
    const { signal } = new AbortController();
    await expect(governed.governor.request("session/new", params, { signal, descent })).rejects.toThrow(
      "the session of a subagent needs an agent of its own",
    );
    const other = await child();
    await expect(other.begin()).rejects.toThrow("the session of a subagent needs an agent of its own");
  });

  test("gets a process of its own", async () => {
    const home = await openTestHome({ rules: ALL });
    const { hub, connect } = await openTestHub(home);
    const params = { cwd: home.workspace, mcpServers: [] };
    const client = await connect();
    await client.request("session/new", params);
    const inner = new TestClient();
    inner.connection = await hub.connect({
      ...{ principal: home.harness.identity.local(), agent: "stub", descent: await descentIn(home, "stub") },
      outlet: { send: (message, order) => void inner.got.push({ message, order }), failed: () => undefined },
    });
    await inner.request("session/new", params);
    expect((await hub.running()).map(({ governor }) => governor.sessions.length)).toEqual([1, 1]);
    await client.request("session/new", params);
    expect((await hub.running()).map(({ governor }) => governor.sessions.length)).toEqual([2, 1]);
  });

  test("leaves no process behind when its task is over", async () => {
    const script = scenes(
      scene("delegate", reply(call("spawn_subagent", { prompt: "say hello", agent: "stub" }))),
    );
    const model = await ScriptedModel.listen({ script });
    onTestFinished(() => model.close());
    const { url, key } = model.endpoint;
    const native = await openNative({
      agents: [stubEntry("stub")],
      environment: { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
      rules: ALL,
    });
    await native.client.prompt(native.id, "delegate");
    const verdicts = await native.entries("session_lifecycle");
    expect(verdicts.map(({ actor }) => actor)).toContain("stub");
    const running = async () => (await native.hosting.hub.running()).map(({ entry }) => entry.id);
    await expect.poll(running).not.toContain("stub");
  });
});
