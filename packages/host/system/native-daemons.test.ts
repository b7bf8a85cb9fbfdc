import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonObject, membersOf } from "@reins/acp";
import { call, hold, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { openNative, verdictsOf } from "./fixtures/native.ts";

type Native = Awaited<ReturnType<typeof openNative>>;

/** A session that stays awake, after its first turn. */
async function daemon(): Promise<Native> {
  const agent = await openNative();
  const _meta = { reins: { daemon: true } };
  const begun = await agent.client.request("session/new", { cwd: agent.workspace, mcpServers: [], _meta });
  const id = String(begun.sessionId);
  await agent.client.prompt(id, "count to 3");
  return { ...agent, id };
}

const ticks = ({ client, id }: Native): JsonObject[] =>
  client.got
    .map(({ message }) => message)
    .filter(({ method, params }) => method === "agent/idle" && membersOf(params).sessionId === id)
    .map(({ params }) => membersOf(params));

const said = ({ client }: Native) => client.said.join("");

describe("a session that stays awake between turns", () => {
  test("reports that it is idle, more and more rarely, to the clients that are there, and keeps none of it", async () => {
    const agent = await daemon();
    await expect.poll(() => ticks(agent).length).toBeGreaterThanOrEqual(3);
    expect(ticks(agent).slice(0, 3)).toEqual([
      { sessionId: agent.id, iteration: 1, backoff_ms: 100 },
      { sessionId: agent.id, iteration: 2, backoff_ms: 500 },
      { sessionId: agent.id, iteration: 3, backoff_ms: 1_000 },
    ]);
    const kept = await agent.hosting.hub.log.page("default", [agent.id], 0);
    expect(kept.filter(({ message }) => message.method === "agent/idle")).toEqual([]);
  });

  test.each(["user_message", "session/input", "agent/user_message"])(
    "is woken at once by %s, which is a turn like any other",
    async (method) => {
      const agent = await daemon();
      await expect.poll(() => ticks(agent).length).toBeGreaterThan(0);
      const before = ticks(agent).length;
      await agent.client.connection.notification(method, { sessionId: agent.id, content: "count to 7" });
      await expect.poll(() => said(agent)).toContain("1 2 3 4 5 6 7");
      await expect.poll(async () => (await agent.entries("turn")).length).toBe(2);
      await expect
        .poll(() =>
          ticks(agent)
            .slice(before)
            .map(({ iteration }) => iteration),
        )
        .toContain(1);
    },
  );

  test("is resumed without a word that anybody would see", async () => {
    const agent = await daemon();
    await agent.client.connection.notification("agent/resume", { sessionId: agent.id });
    await expect.poll(async () => (await agent.entries("turn")).length).toBe(2);
    const kept = await agent.hosting.hub.log.page("default", [agent.id], 0);
    expect(JSON.stringify(kept)).not.toContain("You were resumed");
  });

  test("is interrupted by a message that will not wait", async () => {
    const agent = await daemon();
    const turn = agent.client.prompt(agent.id, "count to 5000");
    await expect.poll(() => said(agent)).toContain("17 18");
    const content = "count to 9";
    const params = { sessionId: agent.id, content, mode: "interrupt_immediate" };
    await agent.client.connection.notification("user_message", params);
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    await expect.poll(() => said(agent)).toContain("1 2 3 4 5 6 7 8 9");
  });
});

describe("a session of the usual kind", () => {
  test("says nothing while it is idle", async () => {
    const agent = await openNative();
    await agent.client.prompt(agent.id, "count to 3");
    await agent.client.connection.notification("agent/resume", { sessionId: agent.id });
    await agent.client.prompt(agent.id, "count to 4");
    expect(ticks(agent)).toEqual([]);
    expect(await agent.entries("turn")).toHaveLength(2);
  });

  test.each(["user_message", "session/input", "agent/user_message"])(
    "takes %s as a prompt of its client, with a verdict",
    async (method) => {
      const agent = await openNative();
      await agent.client.connection.notification(method, { sessionId: agent.id, content: "count to 7" });
      await expect.poll(() => said(agent)).toContain("1 2 3 4 5 6 7");
      await expect.poll(async () => (await agent.entries("turn")).length).toBe(1);
      const decided = (await verdictsOf(agent)).filter(([type]) => type === "pre_prompt");
      expect(decided.length).toBeGreaterThan(0);
    },
  );

  test("does not get a message where rules block prompts", async () => {
    const rules = `
tool_rules:
  - { name: prompts, condition: { event: pre_prompt }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }
`;
    const agent = await openNative({ rules });
    const params = { sessionId: agent.id, content: "count to 7" };
    await agent.client.connection.notification("user_message", params);
    const blocked = async () =>
      (await verdictsOf(agent)).filter(([type, , verdict]) => type === "pre_prompt" && verdict === "blocked");
    await expect.poll(async () => (await blocked()).length).toBeGreaterThan(0);
    await expect.poll(() => agent.hosting.hub.live(agent.id)?.queue.isBusy).toBe(false);
    expect(said(agent)).not.toContain("5 6 7");
  });

  test.each([
    ["interrupt", "cancelled"],
    ["finish_step", "cancelled"],
    ["wait_for_completion", "end_turn"],
    ["unheard-of", "end_turn"],
  ])("ends the turn under way as the mode %s says, and takes the message next", async (mode, stopReason) => {
    const agent = await openNative();
    const turn = agent.client.prompt(agent.id, "count to 400");
    await expect.poll(() => said(agent)).toContain("17 18");
    await agent.client.connection.notification("user_message", { content: "count to 9", mode });
    expect(await turn).toMatchObject({ stopReason });
    await expect.poll(async () => (await agent.entries("turn")).length).toBe(2);
    expect(said(agent)).toMatch(/1 2 3 4 5 6 7 8 9\D*$/);
  });

  test("refuses messages beyond a bound", async () => {
    const agent = await openNative();
    const turn = agent.client.prompt(agent.id, "count to 5000");
    await expect.poll(() => said(agent)).toContain("17 18");
    const send = () => agent.client.connection.notification("user_message", { content: "count to 2" });
    await Promise.all(Array.from({ length: 64 }, send));
    await expect(send()).rejects.toThrow("too many messages wait");
    await agent.client.connection.notification("cancel", {});
    await turn;
  });
});

describe("a session that stays awake", () => {
  test("is woken by changes of the files that it watches, in its own folders, and by its timer", async () => {
    const agent = await openNative();
    const file = join(agent.workspace, "inbox.txt");
    await writeFile(file, "");
    const outside = join(await mkdtemp(join(tmpdir(), "outside-")), "other.txt");
    await writeFile(outside, "");
    const _meta = { reins: { daemon: true, watch_paths: ["inbox.txt", outside] } };
    const begun = await agent.client.request("session/new", { cwd: agent.workspace, mcpServers: [], _meta });
    const watching = { ...agent, id: String(begun.sessionId) };
    await agent.client.prompt(watching.id, "count to 3");
    await expect.poll(() => ticks(watching).length).toBeGreaterThanOrEqual(3);
    await writeFile(outside, "news");
    await writeFile(file, "news");
    await expect.poll(async () => (await agent.entries("turn")).length).toBe(2);
    const timed = { reins: { daemon: true, wake_interval_ms: 1 } };
    const other = await agent.client.request("session/new", {
      cwd: agent.workspace,
      mcpServers: [],
      _meta: timed,
    });
    await agent.client.prompt(String(other.sessionId), "count to 3");
    await expect.poll(async () => (await agent.entries("turn")).length).toBeGreaterThan(3);
  });

  test("reads a message for the next step when that begins, and others when the turn is over", async () => {
    const agent = await daemon();
    const turn = agent.client.prompt(agent.id, "count to 5000");
    await expect.poll(() => said(agent)).toContain("17 18");
    const params = { sessionId: agent.id, content: "count to 9", mode: "after_current_operation" };
    await agent.client.connection.notification("user_message", params);
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    await expect.poll(() => said(agent)).toContain("1 2 3 4 5 6 7 8 9");
  });

  test("is cancelled by its host, which need not name its only session", async () => {
    const agent = await daemon();
    agent.client.connection.detach(
      String(
        (await agent.hosting.hub.list(agent.harness.identity.local())).find(({ id }) => id !== agent.id)?.id,
      ),
    );
    const turn = agent.client.prompt(agent.id, "count to 5000");
    await expect.poll(() => said(agent)).toContain("17 18");
    await agent.client.connection.notification("cancel", {});
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
  });
});

const FORMS = ["user_message", "session/input", "agent/user_message"] as const;

/** A session with a turn under way: in a tool call, in a model request, or none; `release` lets that go on. */
async function underWay(state: "tool call" | "model request" | "idle", isDaemon: boolean) {
  const { promise, resolve: release } = Promise.withResolvers<unknown>();
  const model = await ScriptedModel.listen({
    script: scenes(
      scene("think", reply(say("Well"), hold(promise), say(", that is it."))),
      scene("look", reply(call("look", {})), reply(say("I have looked."))),
      scene("news", reply(say("I read the news."))),
    ),
  });
  onTestFinished(() => model.close());
  const { url, key } = model.endpoint;
  const rules = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n";
  let isCalled = false;
  const agent = await openNative({
    rules,
    environment: { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
    host: (method) => {
      if (method === "host/tools/list") return [{ name: "look" }];
      isCalled ||= method === "builtin_call";
      return method === "builtin_call" ? promise : null;
    },
  });
  const _meta = { reins: { daemon: isDaemon } };
  const begun = await agent.client.request("session/new", { cwd: agent.workspace, mcpServers: [], _meta });
  const id = String(begun.sessionId);
  const turn =
    state === "idle" ? undefined : agent.client.prompt(id, state === "tool call" ? "look" : "think");
  if (state === "tool call") await expect.poll(() => isCalled).toBe(true);
  if (state === "model request") await expect.poll(() => said(agent)).toContain("Well");
  const send = (method: string, mode: string | undefined) =>
    agent.client.connection.notification(method, { sessionId: id, content: "news", mode });
  return { ...agent, id, turn, release, send };
}

describe.each([
  ["that stays awake", true],
  ["of the usual kind", false],
])("a message to a session %s", (_, isDaemon) => {
  test.each([
    ["interrupt", FORMS[0]],
    ["interrupt_immediate", FORMS[1]],
    ["finish_step", FORMS[2]],
    ["wait_for_completion", FORMS[0]],
    [undefined, FORMS[1]],
  ])("with the mode %s, as %s, wakes an idle one", async (mode, form) => {
    const agent = await underWay("idle", isDaemon);
    await agent.send(form, mode);
    await expect.poll(() => said(agent)).toContain("I read the news.");
  });

  test.each([
    ["interrupt", FORMS[1]],
    ["finish_step", FORMS[0]],
    ["after_current_operation", FORMS[2]],
  ])("with the mode %s, as %s, ends a model request", async (mode, form) => {
    const agent = await underWay("model request", isDaemon);
    await agent.send(form, mode);
    expect(await agent.turn).toMatchObject({ stopReason: "cancelled" });
    await expect.poll(() => said(agent)).toContain("I read the news.");
    expect(said(agent)).not.toContain("that is it");
  });

  test("with the mode interrupt ends a tool call", async () => {
    const agent = await underWay("tool call", isDaemon);
    await agent.send(FORMS[0], "interrupt");
    expect(await agent.turn).toMatchObject({ stopReason: "cancelled" });
    await expect.poll(() => said(agent)).toContain("I read the news.");
    expect(said(agent)).not.toContain("I have looked.");
  });

  test.each([
    ["finish_step", FORMS[1]],
    ["after_current_operation", FORMS[2]],
  ])("with the mode %s, as %s, ends the turn when the tool call under way is over", async (mode, form) => {
    const agent = await underWay("tool call", isDaemon);
    await agent.send(form, mode);
    await agent.client.request("session/list", {});
    expect(agent.hosting.hub.live(agent.id)?.queue.isBusy).toBe(true);
    agent.release({ found: 42 });
    expect(await agent.turn).toMatchObject({ stopReason: "cancelled" });
    await expect.poll(() => said(agent)).toContain("I read the news.");
    const statuses = agent.client.updates.flatMap(({ sessionUpdate, status }) =>
      sessionUpdate === "tool_call_update" ? String(status) : [],
    );
    expect(statuses.at(-1)).toBe("completed");
    expect((await agent.entries("tool_result")).map(({ target }) => target)).toContain("host/look");
  });

  test.each([
    ["tool call", "wait_for_completion", FORMS[2], "I have looked."],
    ["model request", undefined, FORMS[0], "that is it."],
  ] as const)(
    "during a %s, with the mode %s, as %s, waits for the end of the turn",
    async (state, mode, form, end) => {
      const agent = await underWay(state, isDaemon);
      await agent.send(form, mode);
      agent.release({ found: 42 });
      expect(await agent.turn).toMatchObject({ stopReason: "end_turn" });
      await expect.poll(() => said(agent)).toMatch(new RegExp(`${end}.*I read the news\\.`, "su"));
    },
  );
});
